"""From a plan with trees to running brokers, of any kind.

In the order in which data passes: `named_trees` of a verified plan become a `wiring`, at the addresses
of an `inventory`. `delta` and `waves` say what each broker does for a new wiring, and in which order.
`change` and `rollout` carry that out in a `folder_store`, whose `manifest` says what is deployed; `drift` is
what was changed by hand. `targets` knows the kinds of brokers, `hosts` where they run, and `proof` shows by
traffic that it works.
"""
