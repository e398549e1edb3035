"""What kernels do with words of 64 bits, one at a time or in blocks of eight.

Rows of bits are worked on block by block. Left to itself, the compiler would do so too, but only behind
checks that no two arrays overlap; with a dozen of arrays and short rows, these never paid.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import extending
from numba.core import types
from numba.extending import intrinsic, register_model, type_callable

config: Any = numba.config  # its names are made at run time
untyped: Any = extending

EIGHT = np.uint64(8)
"""Words of a block."""

if config.DISABLE_JIT:

    def popcount(word: Any) -> Any:
        """Count the set bits of a word."""
        return int(word).bit_count()

    def lowest_bit(word: Any) -> Any:
        """Return the position of the lowest set bit of a word that is not zero."""
        return np.uint64((int(word) & -int(word)).bit_length() - 1)

    def bits_of_bytes(array: Any, begin: Any, k: Any) -> Any:
        """Gather bit k of 64 bytes of an array, from `begin` on, in a word."""
        bits = (array[int(begin) : int(begin) + 64] >> k) & 1
        return np.packbits(bits, bitorder="little").view(np.uint64)[0]

    def load(array: Any, j: Any) -> Any:
        """Return the block of an array that begins at word j."""
        return array[int(j) : int(j) + 8].copy()

    def store(array: Any, j: Any, block: Any) -> None:
        """Put a block into an array at word j."""
        array[int(j) : int(j) + 8] = block

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

else:
    WORD = ir.IntType(64)
    WORDS = ir.VectorType(WORD, int(EIGHT))

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

    def _place(context: Any, builder: Any, array_type: Any, array: Any, j: Any) -> Any:
        data = context.make_array(array_type)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [j]), WORDS.as_pointer())

    @intrinsic
    def load(typingctx: Any, array: Any, j: Any) -> Any:
        """Return the block of an array that begins at word j."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_place(context, builder, signature.args[0], *arguments), align=8)

        return block_type(array, types.uint64), generate

    @intrinsic
    def store(typingctx: Any, array: Any, j: Any, block: Any) -> Any:
        """Put a block into an array at word j."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, j, block = arguments
            builder.store(block, _place(context, builder, signature.args[0], array, j), align=8)
            return context.get_dummy_value()

        return types.none(array, types.uint64, block_type), generate

    @intrinsic
    def nothing(typingctx: Any) -> Any:
        """Return a block without a bit."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return ir.Constant(WORDS, [0] * int(EIGHT))

        return block_type(), generate

    def _call(builder: Any, name: str, result: Any, block: Any) -> Any:
        known, name = builder.module.globals, f"llvm.{name}.v{int(EIGHT)}i64"
        function = known.get(name) or ir.Function(builder.module, ir.FunctionType(result, [WORDS]), name)
        return builder.call(function, [block])

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

    @intrinsic
    def popcount(typingctx: Any, word: Any) -> Any:
        """Count the set bits of a word."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def lowest_bit(typingctx: Any, word: Any) -> Any:
        """Return the position of the lowest set bit of a word that is not zero."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

        return types.uint64(types.uint64), generate

    @intrinsic
    def bits_of_bytes(typingctx: Any, array: Any, begin: Any, k: Any) -> Any:
        """Gather bit k of 64 bytes of an array, from `begin` on, in a word."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = ir.VectorType(ir.IntType(8), 64)
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
            some = builder.insert_element(ir.Constant(vector, ir.Undefined), arguments[2], ir.IntType(32)(0))
            shifts = builder.shuffle_vector(
                some, some, ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
            )
            bits = builder.and_(
                builder.load(place, align=1), builder.shl(ir.Constant(vector, [1] * 64), shifts)
            )
            return builder.bitcast(
                builder.icmp_unsigned("!=", bits, ir.Constant(vector, [0] * 64)), ir.IntType(64)
            )

        return types.uint64(array, types.uint64, types.uint8), generate
