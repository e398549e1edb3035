"""SIMD for kernels: blocks of eight 64-bit words, vectors of sixteen 32-bit numbers, and single words.

Each operation is an intrinsic that becomes one or a few vector instructions. The compiler vectorises loops
over bit rows as well, but guards each loop with checks that no two arrays overlap. With a dozen arrays and
short rows, these checks cost more than they save.

- A **block** is eight words of a bit row. `load` and `store` move one; `&`, `|`, `^`, `+` and `~` work on it.
- A search through 32-bit numbers compares **sixteen** at a time, or the eight of a chunk, and returns a bit
  for each, its *mark*. One by one, the branches would be unpredictable. An array that is searched by sixteens
  needs room for fifteen more numbers after its end.

Blocks and vectors may begin at any place. With the compiler off, plain numpy does the same, slowly.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import extending
from numba.core import types
from numba.extending import intrinsic, register_model, type_callable

from meshwright.arrays import NOTHING, ONE
from meshwright.jit.compiler import config, inlined

untyped: Any = extending

EIGHT = np.uint64(8)
"""The number of words in a block."""
SIXTEEN = np.uint64(16)
"""The number of 32-bit numbers that are compared at once."""

if config.DISABLE_JIT:

    def popcount(word: Any) -> Any:
        """Count the set bits of a word."""
        return int(word).bit_count()

    def lowest_bit(word: Any) -> Any:
        """Return the position of the lowest set bit of a word, or 64 if it has none."""
        bits = int(word) | 1 << 64
        return np.uint64((bits & -bits).bit_length() - 1)

    def bits_of_bytes(array: Any, begin: Any, k: Any) -> Any:
        """Return bit k of each of the 64 bytes from `begin` on, as a word."""
        bits = (array[int(begin) : int(begin) + 64] >> k) & 1
        return np.packbits(bits, bitorder="little").view(np.uint64)[0]

    def prefetch(array: Any, i: Any) -> None:
        """Fetch item i of an array into the cache, to be read soon; any i is allowed."""

    def load(array: Any, j: Any) -> Any:
        """Return the block that begins at word j of an array; rows count as one long sequence of words."""
        return array.reshape(-1)[int(j) : int(j) + 8].copy()

    def store(array: Any, j: Any, block: Any) -> None:
        """Write a block to an array, from word j on."""
        array.reshape(-1)[int(j) : int(j) + 8] = block

    def nothing() -> Any:
        """Return an empty block: all bits 0."""
        return np.zeros(8, dtype=np.uint64)

    def ones(block: Any) -> Any:
        """Count the set bits of each word of a block."""
        return np.array([int(word).bit_count() for word in block], dtype=np.uint64)

    def total(block: Any) -> Any:
        """Return the sum of a block's words."""
        return int(block.sum())

    def any_of(block: Any) -> Any:
        """Return the bitwise OR of a block's words."""
        return np.bitwise_or.reduce(block)

    def reaching(array: Any, i: Any, level: Any) -> Any:
        """Return a mark for each of the sixteen numbers from place i on that is at least `level`."""
        return np.uint64(sum(1 << k for k, number in enumerate(array[int(i) :][:16]) if number >= level))

    def matching(array: Any, i: Any, value: Any) -> Any:
        """Return a mark for each of the eight numbers from place i on that equals `value`."""
        return np.uint64(sum(1 << k for k, number in enumerate(array[int(i) :][:8]) if number == value))

    def copy_sixteen(target: Any, j: Any, source: Any, i: Any) -> None:
        """Copy the sixteen numbers from place i of one array on to place j of another."""
        target[int(j) : int(j) + 16] = source[int(i) : int(i) + 16]

    def fill_sixteen(target: Any, j: Any, value: Any) -> None:
        """Write a number to the sixteen places of an array from j on."""
        target[int(j) : int(j) + 16] = value

    def largest(array: Any, i: Any, marks: Any) -> Any:
        """Return the largest marked number of the sixteen from place i on, but at least 0."""
        marked = [int(number) for k, number in enumerate(array[int(i) :][:16]) if int(marks) >> k & 1]
        return max([0, *marked])

else:
    WORD, NUMBER = ir.IntType(64), ir.IntType(32)
    WORDS, NUMBERS = ir.VectorType(WORD, int(EIGHT)), ir.VectorType(NUMBER, int(SIXTEEN))
    MARKS = ir.IntType(int(SIXTEEN))

    class Block(types.Type):
        """The numba type of a block: eight words, handled as one value."""

    block_type = Block("Block")

    @register_model(Block)
    class BlockModel(untyped.models.PrimitiveModel):  # type: ignore[misc]
        """Represent a block as an LLVM vector."""

        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, WORDS)

    def _operate(operation: Any, name: str) -> None:
        """Compile an operator on blocks to the LLVM instruction of this name."""

        @type_callable(operation)
        def typed(context: Any) -> Any:
            def result(x: Any, y: Any = block_type) -> Any:
                return block_type if x == y == block_type else None

            return result

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(*arguments)

        arity = 1 if operation is operator.invert else 2
        untyped.lower_builtin(operation, *[Block] * arity)(generate)

    for _operation, _name in (
        (operator.and_, "and_"),
        (operator.or_, "or_"),
        (operator.xor, "xor"),
        (operator.add, "add"),
        (operator.invert, "not_"),
    ):
        _operate(_operation, _name)

    ANY_ARRAY = None
    """Stands for the type of an array, among the types of an operation's arguments."""

    class Code(NamedTuple):
        """Where the code of an operation goes."""

        context: Any
        builder: Any
        kinds: Any
        """The types of the operation's arguments."""

        def place(self, vector: Any, array: Any, i: Any, position: int = 0) -> Any:
            """Return a pointer to the vector that begins at item i of the array at a position of arguments.

            Items are counted through all rows.
            """
            data = self.context.make_array(self.kinds[position])(self.context, self.builder, array).data
            return self.builder.bitcast(self.builder.gep(data, [i]), vector.as_pointer())

        def numbers(self, array: Any, i: Any, position: int = 0) -> Any:
            """Load the sixteen numbers from place i on; they need not be aligned to a whole vector."""
            return self.builder.load(self.place(NUMBERS, array, i, position), align=4)

        def repeated(self, value: Any, vector: Any) -> Any:
            """Return a vector with the same value in each place."""
            some = self.builder.insert_element(ir.Constant(vector, ir.Undefined), value, NUMBER(0))
            return self.builder.shuffle_vector(
                some, some, ir.Constant(ir.VectorType(NUMBER, vector.count), None)
            )

        def call(self, name: str, result: Any, vector: Any) -> Any:
            """Call LLVM's function of this name for a vector."""
            name = f"llvm.{name}.v{vector.type.count}{vector.type.element.intrinsic_name}"
            known = self.builder.module.globals.get(name)
            kind = ir.FunctionType(result, [vector.type])
            return self.builder.call(known or ir.Function(self.builder.module, kind, name), [vector])

    def _operation(result: Any, *kinds: Any) -> Callable[[Callable[..., Any]], Any]:
        """Make an intrinsic of a function that takes a `Code` and the values of arguments of these types."""

        def decorate(build: Callable[..., Any]) -> Any:
            @wraps(build)
            def typed(typingctx: Any, *given: Any) -> Any:
                def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                    made = build(Code(context, builder, signature.args), *arguments)
                    return context.get_dummy_value() if made is None else made

                own = [one if kind is ANY_ARRAY else kind for one, kind in zip(given, kinds, strict=True)]
                return result(*own), generate

            return intrinsic(typed)

        return decorate

    @_operation(block_type, ANY_ARRAY, types.uint64)
    def load(code: Code, array: Any, j: Any) -> Any:
        """Return the block that begins at word j of an array; rows count as one long sequence of words."""
        return code.builder.load(code.place(WORDS, array, j), align=8)

    @_operation(types.none, ANY_ARRAY, types.uint64, block_type)
    def store(code: Code, array: Any, j: Any, block: Any) -> None:
        """Write a block to an array, from word j on."""
        code.builder.store(block, code.place(WORDS, array, j), align=8)

    @_operation(block_type)
    def nothing(code: Code) -> Any:
        """Return an empty block: all bits 0."""
        return ir.Constant(WORDS, [0] * int(EIGHT))

    @_operation(block_type, block_type)
    def ones(code: Code, block: Any) -> Any:
        """Count the set bits of each word of a block."""
        return code.call("ctpop", WORDS, block)

    @_operation(types.int64, block_type)
    def total(code: Code, block: Any) -> Any:
        """Return the sum of a block's words."""
        return code.call("vector.reduce.add", WORD, block)

    @_operation(types.uint64, block_type)
    def any_of(code: Code, block: Any) -> Any:
        """Return the bitwise OR of a block's words."""
        return code.call("vector.reduce.or", WORD, block)

    @_operation(types.none, ANY_ARRAY, types.uint64, ANY_ARRAY, types.uint64)
    def copy_sixteen(code: Code, target: Any, j: Any, source: Any, i: Any) -> None:
        """Copy the sixteen numbers from place i of one array on to place j of another."""
        code.builder.store(code.numbers(source, i, 2), code.place(NUMBERS, target, j), align=4)

    @_operation(types.none, ANY_ARRAY, types.uint64, types.int64)
    def fill_sixteen(code: Code, target: Any, j: Any, value: Any) -> None:
        """Write a number to the sixteen places of an array from j on."""
        numbers = code.repeated(code.builder.trunc(value, NUMBER), NUMBERS)
        code.builder.store(numbers, code.place(NUMBERS, target, j), align=4)

    @_operation(types.uint64, ANY_ARRAY, types.uint64, types.int64)
    def reaching(code: Code, array: Any, i: Any, level: Any) -> Any:
        """Return a mark for each of the sixteen numbers from place i on that is at least `level`."""
        builder, numbers = code.builder, code.numbers(array, i)
        levels = code.repeated(builder.trunc(level, NUMBER), NUMBERS)
        return builder.zext(builder.bitcast(builder.icmp_signed(">=", numbers, levels), MARKS), WORD)

    @_operation(types.uint64, ANY_ARRAY, types.uint64, types.int64)
    def matching(code: Code, array: Any, i: Any, value: Any) -> Any:
        """Return a mark for each of the eight numbers from place i on that equals `value`."""
        builder, vector = code.builder, ir.VectorType(NUMBER, int(EIGHT))
        place = code.place(vector, array, i)
        values = code.repeated(builder.trunc(value, NUMBER), vector)
        same = builder.icmp_signed("==", builder.load(place, align=4), values)
        return builder.zext(builder.bitcast(same, ir.IntType(vector.count)), WORD)

    @_operation(types.int64, ANY_ARRAY, types.uint64, types.uint64)
    def largest(code: Code, array: Any, i: Any, marks: Any) -> Any:
        """Return the largest marked number of the sixteen from place i on, but at least 0."""
        builder, bits = code.builder, ir.VectorType(ir.IntType(1), NUMBERS.count)
        flags = builder.bitcast(builder.trunc(marks, MARKS), bits)
        marked = builder.select(flags, code.numbers(array, i), ir.Constant(NUMBERS, None))
        return builder.sext(code.call("vector.reduce.smax", NUMBER, marked), WORD)

    @_operation(types.int64, types.uint64)
    def popcount(code: Code, word: Any) -> Any:
        """Count the set bits of a word."""
        return code.builder.ctpop(word)

    @_operation(types.none, ANY_ARRAY, types.int64)
    def prefetch(code: Code, array: Any, i: Any) -> None:
        """Fetch item i of an array into the cache, to be read soon; any i is allowed."""
        byte, flag, module = ir.IntType(8), ir.IntType(32), code.builder.module
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), flag, flag, flag])
        known = module.globals.get("llvm.prefetch.p0")
        function = known or ir.Function(module, kind, "llvm.prefetch.p0")
        # To be read, to be kept in all caches, as data.
        code.builder.call(function, [code.place(byte, array, i), flag(0), flag(3), flag(1)])

    @_operation(types.uint64, types.uint64)
    def lowest_bit(code: Code, word: Any) -> Any:
        """Return the position of the lowest set bit of a word, or 64 if it has none."""
        return code.builder.cttz(word, ir.Constant(ir.IntType(1), 0))

    @_operation(types.uint64, ANY_ARRAY, types.uint64, types.uint8)
    def bits_of_bytes(code: Code, array: Any, begin: Any, k: Any) -> Any:
        """Return bit k of each of the 64 bytes from `begin` on, as a word."""
        builder, vector = code.builder, ir.VectorType(ir.IntType(8), 64)
        bytes_read = builder.load(code.place(vector, array, begin), align=1)
        bits = builder.and_(bytes_read, builder.shl(ir.Constant(vector, [1] * 64), code.repeated(k, vector)))
        return builder.bitcast(builder.icmp_unsigned("!=", bits, ir.Constant(vector, [0] * 64)), WORD)


@inlined
def place_of(array: Any, begin: Any, end: Any, value: Any) -> Any:
    """Return a place between two where a 32-bit number has this value, the first such, or −1.

    The array needs room for seven more numbers after its end.
    """
    last = np.uint64(end)
    for at in range(np.uint64(begin), last, EIGHT):
        marks = matching(array, at, value) & ((ONE << min(last - at, EIGHT)) - ONE)
        if marks != NOTHING:
            return np.int64(at + lowest_bit(marks))
    return np.int64(-1)
