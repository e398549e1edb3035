"""The options of Mosquitto 2, as mosquitto.conf(5) and its parser name them; what a misspelled one means."""

from difflib import get_close_matches

GENERAL = """
acl_file allow_anonymous allow_duplicate_messages allow_zero_length_clientid auth_plugin
auth_plugin_deny_special_chars auto_id_prefix autosave_interval autosave_on_changes check_retain_source
clientid_prefixes connection_messages enable_control_api global_max_clients global_max_connections
global_plugin include_dir log_dest log_facility log_timestamp log_timestamp_format log_type
max_inflight_bytes max_inflight_messages max_keepalive max_packet_size max_queued_bytes
max_queued_messages memory_limit message_size_limit packet_buffer_size password_file
per_listener_settings persistence persistence_file persistence_location persistent_client_expiration
pid_file plugin plugin_load plugin_use psk_file queue_qos0_messages retain_available
retain_expiry_interval retained_persistence retry_interval set_tcp_nodelay sys_interval
upgrade_outgoing_qos user websockets_headers_size websockets_log_level
"""
LISTENER = """
accept_protocol_versions bind_address bind_interface cafile capath certfile ciphers ciphers_tls1.3
crlfile dhparamfile disable_client_cert_date_checks enable_proxy_protocol http_dir keyfile listener
listener_allow_anonymous listener_auto_id_prefix max_connections max_qos max_topic_alias
max_topic_alias_broker maximum_qos mount_point port protocol proxy_protocol_v2_require_tls psk_hint
require_certificate socket_domain tls_engine tls_engine_kpass_sha1 tls_keyform tls_version
use_identity_as_username use_subject_as_username use_username_as_clientid websockets_origin
"""
BRIDGE = """
address addresses bridge_alpn bridge_attempt_unsubscribe bridge_bind_address bridge_cafile bridge_capath
bridge_certfile bridge_ciphers bridge_ciphers_tls1.3 bridge_identity bridge_insecure bridge_keyfile
bridge_max_packet_size bridge_max_topic_alias bridge_outgoing_retain bridge_protocol_version bridge_psk
bridge_receive_maximum bridge_reload_type bridge_require_ocsp bridge_session_expiry_interval
bridge_tcp_keepalive bridge_tcp_user_timeout bridge_tls_use_os_certs bridge_tls_version cleansession
clientid connection idle_timeout keepalive_interval local_cleansession local_clientid local_password
local_username notification_topic notifications notifications_local_only password remote_clientid
remote_password remote_username restart_timeout round_robin start_type threshold topic try_private
username
"""
OPTIONS = frozenset(f"{GENERAL} {LISTENER} {BRIDGE}".split())
"""Every option of Mosquitto 2.0 and 2.1, also those that it only still accepts."""
PLUGIN_PREFIXES = ("plugin_opt_", "auth_opt_")
"""The beginnings of options that a plugin reads."""


def is_option(keyword: str) -> bool:
    """Return whether Mosquitto knows an option; letter case matters to it.

    >>> [is_option(keyword) for keyword in ("listener", "Listener", "plugin_opt_host", "listner")]
    [True, False, True, False]
    """
    return keyword in OPTIONS or keyword.startswith(PLUGIN_PREFIXES)


def likely_option(keyword: str) -> str | None:
    """Return the option that a misspelled one most likely means, or None.

    >>> likely_option("listner"), likely_option("Topic"), likely_option("node,topic")
    ('listener', 'topic', None)
    """
    near = get_close_matches(keyword.lower(), sorted(OPTIONS), 1, 0.75)
    return near[0] if near else None
