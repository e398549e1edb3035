"""What kernels do with words of 64 bits, one at a time or in blocks of eight, and with sixteen numbers.

Rows of bits are worked on block by block. Left to itself, the compiler would do so too, but only behind
checks that no two arrays overlap; with a dozen of arrays and short rows, these never paid. Numbers of 32 bits
are looked through sixteen at a time, the answer a mark for each, as one by one nobody can foresee which is
wanted; an array of them must have fifteen more behind its end.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending
from numba.core import types
from numba.extending import intrinsic, register_model, type_callable

from meshwright.jit.compiler import config

untyped: Any = extending

EIGHT = np.uint64(8)
"""Words of a block."""
SIXTEEN = np.uint64(16)
"""Numbers that are looked at at once."""

if config.DISABLE_JIT:

    def popcount(word: Any) -> Any:
        """Count the set bits of a word."""
        return int(word).bit_count()

    def lowest_bit(word: Any) -> Any:
        """Return the position of the lowest set bit of a word, or 64 if it has none."""
        bits = int(word) | 1 << 64
        return np.uint64((bits & -bits).bit_length() - 1)

    def bits_of_bytes(array: Any, begin: Any, k: Any) -> Any:
        """Gather bit k of 64 bytes of an array, from `begin` on, in a word."""
        bits = (array[int(begin) : int(begin) + 64] >> k) & 1
        return np.packbits(bits, bitorder="little").view(np.uint64)[0]

    def load(array: Any, j: Any) -> Any:
        """Return the block of an array that begins at word j; the words of all rows are in one order."""
        return array.reshape(-1)[int(j) : int(j) + 8].copy()

    def store(array: Any, j: Any, block: Any) -> None:
        """Put a block into an array at word j."""
        array.reshape(-1)[int(j) : int(j) + 8] = block

    def nothing() -> Any:
        """Return a block without a bit."""
        return np.zeros(8, dtype=np.uint64)

    def ones(block: Any) -> Any:
        """Return how many bits each word of a block has."""
        return np.array([int(word).bit_count() for word in block], dtype=np.uint64)

    def total(block: Any) -> Any:
        """Return the sum of a block's words."""
        return int(block.sum())

    def any_of(block: Any) -> Any:
        """Return the bits that any word of a block has."""
        return np.bitwise_or.reduce(block)

    def reaching(array: Any, i: Any, level: Any) -> Any:
        """Mark which of the sixteen numbers of an array from i on are at least `level`."""
        return np.uint64(sum(1 << k for k, number in enumerate(array[int(i) :][:16]) if number >= level))

    def largest(array: Any, i: Any, marks: Any) -> Any:
        """Return the largest marked one of the sixteen numbers of an array from i on, and no less than 0."""
        marked = [int(number) for k, number in enumerate(array[int(i) :][:16]) if int(marks) >> k & 1]
        return max([0, *marked])

else:
    WORD, NUMBER = ir.IntType(64), ir.IntType(32)
    WORDS, NUMBERS = ir.VectorType(WORD, int(EIGHT)), ir.VectorType(NUMBER, int(SIXTEEN))
    MARKS = ir.IntType(int(SIXTEEN))

    class Block(types.Type):
        """Eight words, handled as one."""

    block_type = Block("Block")

    @register_model(Block)
    class BlockModel(untyped.models.PrimitiveModel):  # type: ignore[misc]
        """How a block is held: as a vector."""

        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, WORDS)

    def _operate(operation: Any, name: str) -> None:
        """Let an operation on blocks be one instruction."""

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
        data = context.make_array(array_type)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [i]), vector.as_pointer())

    @intrinsic
    def load(typingctx: Any, array: Any, j: Any) -> Any:
        """Return the block of an array that begins at word j; the words of all rows are in one order."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_place(context, builder, WORDS, signature.args[0], *arguments), align=8)

        return block_type(array, types.uint64), generate

    @intrinsic
    def store(typingctx: Any, array: Any, j: Any, block: Any) -> Any:
        """Put a block into an array at word j."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, j, block = arguments
            builder.store(block, _place(context, builder, WORDS, signature.args[0], array, j), align=8)
            return context.get_dummy_value()

        return types.none(array, types.uint64, block_type), generate

    @intrinsic
    def nothing(typingctx: Any) -> Any:
        """Return a block without a bit."""

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
        """Return how many bits each word of a block has."""

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
        """Return the bits that any word of a block has."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _call(builder, "vector.reduce.or", WORD, arguments[0])

        return types.uint64(block_type), generate

    def _numbers(context: Any, builder: Any, array_type: Any, array: Any, i: Any) -> Any:
        return builder.load(_place(context, builder, NUMBERS, array_type, array, i), align=4)

    def _repeated(builder: Any, value: Any, vector: Any) -> Any:
        some = builder.insert_element(ir.Constant(vector, ir.Undefined), value, NUMBER(0))
        return builder.shuffle_vector(some, some, ir.Constant(ir.VectorType(NUMBER, vector.count), None))

    @intrinsic
    def reaching(typingctx: Any, array: Any, i: Any, level: Any) -> Any:
        """Mark which of the sixteen numbers of an array from i on are at least `level`."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, i, level = arguments
            numbers = _numbers(context, builder, signature.args[0], array, i)
            levels = _repeated(builder, builder.trunc(level, NUMBER), NUMBERS)
            return builder.zext(builder.bitcast(builder.icmp_signed(">=", numbers, levels), MARKS), WORD)

        return types.uint64(array, types.uint64, types.int64), generate

    @intrinsic
    def largest(typingctx: Any, array: Any, i: Any, marks: Any) -> Any:
        """Return the largest marked one of the sixteen numbers of an array from i on, and no less than 0."""

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
    def lowest_bit(typingctx: Any, word: Any) -> Any:
        """Return the position of the lowest set bit of a word, or 64 if it has none."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

        return types.uint64(types.uint64), generate

    @intrinsic
    def bits_of_bytes(typingctx: Any, array: Any, begin: Any, k: Any) -> Any:
        """Gather bit k of 64 bytes of an array, from `begin` on, in a word."""

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
