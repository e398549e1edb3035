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
from typing import Any

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

    def _place(context: Any, builder: Any, vector: Any, array_type: Any, array: Any, i: Any) -> Any:
        """Return a pointer to the vector that begins at item i; items are counted through all rows."""
        data = context.make_array(array_type)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [i]), vector.as_pointer())

    @intrinsic
    def load(typingctx: Any, array: Any, j: Any) -> Any:
        """Return the block that begins at word j of an array; rows count as one long sequence of words."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_place(context, builder, WORDS, signature.args[0], *arguments), align=8)

        return block_type(array, types.uint64), generate

    @intrinsic
    def store(typingctx: Any, array: Any, j: Any, block: Any) -> Any:
        """Write a block to an array, from word j on."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, j, block = arguments
            builder.store(block, _place(context, builder, WORDS, signature.args[0], array, j), align=8)
            return context.get_dummy_value()

        return types.none(array, types.uint64, block_type), generate

    @intrinsic
    def nothing(typingctx: Any) -> Any:
        """Return an empty block: all bits 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return ir.Constant(WORDS, [0] * int(EIGHT))

        return block_type(), generate

    def _call(builder: Any, name: str, result: Any, vector: Any) -> Any:
        name = f"llvm.{name}.v{vector.type.count}{vector.type.element.intrinsic_name}"
        known = builder.module.globals.get(name)
        function = known or ir.Function(builder.module, ir.FunctionType(result, [vector.type]), name)
        return builder.call(function, [vector])

    @intrinsic
    def ones(typingctx: Any, block: Any) -> Any:
        """Count the set bits of each word of a block."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _call(builder, "ctpop", WORDS, arguments[0])

        return block_type(block_type), generate

    @intrinsic
    def total(typingctx: Any, block: Any) -> Any:
        """Return the sum of a block's words."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _call(builder, "vector.reduce.add", WORD, arguments[0])

        return types.int64(block_type), generate

    @intrinsic
    def any_of(typingctx: Any, block: Any) -> Any:
        """Return the bitwise OR of a block's words."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _call(builder, "vector.reduce.or", WORD, arguments[0])

        return types.uint64(block_type), generate

    def _numbers(context: Any, builder: Any, array_type: Any, array: Any, i: Any) -> Any:
        """Load the sixteen numbers from place i on; they need not be aligned to a whole vector."""
        return builder.load(_place(context, builder, NUMBERS, array_type, array, i), align=4)

    def _repeated(builder: Any, value: Any, vector: Any) -> Any:
        """Return a vector with the same value in each place."""
        some = builder.insert_element(ir.Constant(vector, ir.Undefined), value, NUMBER(0))
        return builder.shuffle_vector(some, some, ir.Constant(ir.VectorType(NUMBER, vector.count), None))

    @intrinsic
    def copy_sixteen(typingctx: Any, target: Any, j: Any, source: Any, i: Any) -> Any:
        """Copy the sixteen numbers from place i of one array on to place j of another."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target, j, source, i = arguments
            numbers = _numbers(context, builder, signature.args[2], source, i)
            builder.store(numbers, _place(context, builder, NUMBERS, signature.args[0], target, j), align=4)
            return context.get_dummy_value()

        return types.none(target, types.uint64, source, types.uint64), generate

    @intrinsic
    def fill_sixteen(typingctx: Any, target: Any, j: Any, value: Any) -> Any:
        """Write a number to the sixteen places of an array from j on."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target, j, value = arguments
            numbers = _repeated(builder, builder.trunc(value, NUMBER), NUMBERS)
            builder.store(numbers, _place(context, builder, NUMBERS, signature.args[0], target, j), align=4)
            return context.get_dummy_value()

        return types.none(target, types.uint64, types.int64), generate

    @intrinsic
    def reaching(typingctx: Any, array: Any, i: Any, level: Any) -> Any:
        """Return a mark for each of the sixteen numbers from place i on that is at least `level`."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, i, level = arguments
            numbers = _numbers(context, builder, signature.args[0], array, i)
            levels = _repeated(builder, builder.trunc(level, NUMBER), NUMBERS)
            return builder.zext(builder.bitcast(builder.icmp_signed(">=", numbers, levels), MARKS), WORD)

        return types.uint64(array, types.uint64, types.int64), generate

    @intrinsic
    def matching(typingctx: Any, array: Any, i: Any, value: Any) -> Any:
        """Return a mark for each of the eight numbers from place i on that equals `value`."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = ir.VectorType(NUMBER, int(EIGHT))
            array, i, value = arguments
            place = _place(context, builder, vector, signature.args[0], array, i)
            values = _repeated(builder, builder.trunc(value, NUMBER), vector)
            same = builder.icmp_signed("==", builder.load(place, align=4), values)
            return builder.zext(builder.bitcast(same, ir.IntType(vector.count)), WORD)

        return types.uint64(array, types.uint64, types.int64), generate

    @intrinsic
    def largest(typingctx: Any, array: Any, i: Any, marks: Any) -> Any:
        """Return the largest marked number of the sixteen from place i on, but at least 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, i, marks = arguments
            flags = builder.bitcast(builder.trunc(marks, MARKS), ir.VectorType(ir.IntType(1), NUMBERS.count))
            numbers = _numbers(context, builder, signature.args[0], array, i)
            marked = builder.select(flags, numbers, ir.Constant(NUMBERS, None))
            return builder.sext(_call(builder, "vector.reduce.smax", NUMBER, marked), WORD)

        return types.int64(array, types.uint64, types.uint64), generate

    @intrinsic
    def popcount(typingctx: Any, word: Any) -> Any:
        """Count the set bits of a word."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def prefetch(typingctx: Any, array: Any, i: Any) -> Any:
        """Fetch item i of an array into the cache, to be read soon; any i is allowed."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            byte, flag = ir.IntType(8), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), flag, flag, flag])
            known = builder.module.globals.get("llvm.prefetch.p0")
            function = known or ir.Function(builder.module, kind, "llvm.prefetch.p0")
            place = _place(context, builder, byte, signature.args[0], *arguments)
            # To be read, to be kept in all caches, as data.
            builder.call(function, [place, flag(0), flag(3), flag(1)])
            return context.get_dummy_value()

        return types.none(array, types.int64), generate

    @intrinsic
    def lowest_bit(typingctx: Any, word: Any) -> Any:
        """Return the position of the lowest set bit of a word, or 64 if it has none."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

        return types.uint64(types.uint64), generate

    @intrinsic
    def bits_of_bytes(typingctx: Any, array: Any, begin: Any, k: Any) -> Any:
        """Return bit k of each of the 64 bytes from `begin` on, as a word."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = ir.VectorType(ir.IntType(8), 64)
            array, begin, k = arguments
            place = _place(context, builder, vector, signature.args[0], array, begin)
            shifts = _repeated(builder, k, vector)
            bits = builder.and_(
                builder.load(place, align=1), builder.shl(ir.Constant(vector, [1] * 64), shifts)
            )
            return builder.bitcast(
                builder.icmp_unsigned("!=", bits, ir.Constant(vector, [0] * 64)), ir.IntType(64)
            )

        return types.uint64(array, types.uint64, types.uint8), generate


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
