"""The kernels of counting: a histogram for symbols, upright counters for sets.

**Sets.** A word holds 64 members, and adding 1 to the counter of each present member, bit by bit, would cost 64
steps. Here counters stand upright: plane i holds the i-th binary digit of all 64 counts, so one full adder of five
instructions adds a digit of all of them. Seven such adders turn eight words into a word of ones, one of twos, one of
fours, and one carry of weight eight, which ripples into higher planes (the carry-save adders of Harley and Seal, as
for counting bits). Planes are read out before they overflow. Many rows are counted in lanes, upright counters side by
side. If sets have several parts, each part has lanes of its own.

Rows that break a rule of `spec/reports.md` are counted by question and rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import ALL, ONE, ZERO
from hush.batch.native import compiled, inlined, mark, ones, pointer, shifted

Array = np.ndarray[Any, Any]

GROUP = 8  # words that are added together
LEVELS = 8  # planes for the carries of groups
PLANES = 3 + LEVELS
LANES = 64  # upright counters side by side, where there is one question
ABREAST = 16  # the same, for each of several questions or parts
ROUND = GROUP * ABREAST  # words that are added together
MOST_PARTS = 64  # of sets that are counted in lanes: more would not fit the cache
MANY = 1 << 15  # rows that are worth lanes
FULL = (1 << LEVELS) - 1  # the number of groups that fit
ONE_COUNT = np.int32(1)

SYMBOL, ANY_SET = -1, -2  # in place of the size of sets: there is no set, or it may have any size
TOPS, STARTS, BEFORE, AFTER = range(4)  # the masks of a part, for sets with at most one member of each group

FAULTS = (
    "a question that is not in the plan",
    "a symbol outside the alphabet",
    "a member that does not exist",
    "a set of the wrong size, or with two members of one group",
    "parts that are missing or out of order",
)
UNKNOWN, OUTSIDE, SPARE_BITS, WRONG_SET, WRONG_PARTS = range(len(FAULTS))


@compiled
def count_symbols(attribute: Array, output: Array, questions: int, bits: int, counts: Array) -> int:
    """Count rows of plans that have no sets. Return how many do not have the plan's shape.

    Each question has room for 2^bits symbols, so that a place is a shift and a sum; counts for symbols outside the
    alphabet are found later. Two histograms take turns, so that equal neighbours do not wait for each other. If they
    are so large that equal neighbours are rare, there is only one, which fits the cache better. Negative numbers are
    too large when read as unsigned.
    """
    which, symbols = pointer(attribute), pointer(output)
    even, odd = pointer(counts), shifted(pointer(counts), counts.size - counts.shape[1])
    last, shift, outside = np.uint64(questions), np.uint64(bits), 0
    rows = len(attribute)
    for i in range(0, rows - 1, 2):
        a, b = np.uint64(which[i]), np.uint64(which[i + 1])
        x, y = np.uint64(symbols[i]), np.uint64(symbols[i + 1])
        if a < last and b < last and (x | y) >> shift == ZERO:
            even[(a << shift) + x] += ONE_COUNT
            odd[(b << shift) + y] += ONE_COUNT
        else:
            outside += count_symbol(a, x, last, shift, even) + count_symbol(b, y, last, shift, odd)
    if rows & 1:
        outside += count_symbol(np.uint64(which[rows - 1]), np.uint64(symbols[rows - 1]), last, shift, even)
    return outside


@inlined
def count_symbol(index: Any, symbol: Any, questions: Any, bits: Any, counts: Array) -> int:
    """Count one row. Return 1 if it does not have the plan's shape."""
    if index < questions and symbol >> bits == ZERO:
        counts[(index << bits) + symbol] += ONE_COUNT
        return 0
    return 1


@compiled
def find_faults(attribute: Array, output: Array, questions: int, bits: int, faults: Array) -> None:
    """Count the rows that `count_symbols` left out. It is slower, and runs only if there are any."""
    for i in range(len(attribute)):
        index, symbol = np.int64(attribute[i]), np.int64(output[i])
        if not 0 <= index < questions:
            faults[questions, UNKNOWN] += 1
        elif not 0 <= symbol < 1 << bits:
            faults[index, OUTSIDE] += 1


@inlined
def carry(a: Any, b: Any, c: Any) -> Any:
    """Add three words digit by digit: return the carries and the sums."""
    u = a ^ b
    return (a & b) | (u & c), u ^ c


@inlined
def add_group(planes: Array, w: Array) -> None:
    """Add eight words to the upright counters. Both arguments are pointers."""
    twos_a, one = carry(planes[0], w[0], w[1])
    twos_b, one = carry(one, w[2], w[3])
    fours_a, two = carry(planes[1], twos_a, twos_b)
    twos_a, one = carry(one, w[4], w[5])
    twos_b, one = carry(one, w[6], w[7])
    fours_b, two = carry(two, twos_a, twos_b)
    eights, four = carry(planes[2], fours_a, fours_b)
    planes[0], planes[1], planes[2] = one, two, four
    for level in range(3, PLANES):
        plane = planes[level]
        planes[level] = plane ^ eights
        eights &= plane


@compiled
def read_out(planes: Array, waiting: Array, fill: int, counts: Array) -> None:
    """Add the upright counters, and the words that wait for a full group, to plain counts; clear the counters."""
    for i in range(len(counts)):
        shift = np.uint64(i)
        total = np.int64(0)
        for level in range(PLANES):
            total += np.int64((planes[level] >> shift) & ONE) << level
        for j in range(fill):
            total += np.int64((np.uint64(waiting[j]) >> shift) & ONE)
        counts[i] += total
    for level in range(PLANES):
        planes[level] = ZERO


@compiled
def empty_planes(
    weights: Array,
    rows: Array,
    slots: Array,
    starts: Array,
    planes: Array,
    waiting: Array,
    fills: Array,
    groups: Array,
    counts: Array,
) -> None:
    """Read out the upright counters of all set-valued questions."""
    for index in range(len(weights)):
        if weights[index] != SYMBOL:
            for block in range(rows[index]):
                slot = slots[index] + block
                start = starts[index] + 64 * block
                end = min(start + 64, starts[index + 1])
                read_out(planes[slot], waiting[slot], fills[slot], counts[start:end])
                fills[slot] = 0
                groups[slot] = 0


@inlined
def add_lanes(planes: Array, words: Array, lanes: int) -> None:
    """Do the same as `add_group` for several upright counters side by side, the lanes. Words and planes take turns."""
    for lane in range(lanes):
        plane, w = shifted(planes, lane), shifted(words, lane)
        twos_a, one = carry(plane[0], w[0], w[lanes])
        twos_b, one = carry(one, w[2 * lanes], w[3 * lanes])
        fours_a, two = carry(plane[lanes], twos_a, twos_b)
        twos_a, one = carry(one, w[4 * lanes], w[5 * lanes])
        twos_b, one = carry(one, w[6 * lanes], w[7 * lanes])
        fours_b, two = carry(two, twos_a, twos_b)
        eights, four = carry(plane[2 * lanes], fours_a, fours_b)
        plane[0], plane[lanes], plane[2 * lanes] = one, two, four
        for level in range(3, PLANES):
            held = plane[lanes * level]
            plane[lanes * level] = held ^ eights
            eights &= held


@inlined
def read_lanes(planes: Array, counts: Array, size: int, lanes: int) -> None:
    """Add the counters of all lanes to plain counts, and clear them."""
    for i in range(size):
        shift, total = np.uint64(i), ZERO
        for level in range(PLANES):
            ones_here = ZERO
            for lane in range(lanes):
                ones_here += (planes[lanes * level + lane] >> shift) & ONE
            total += ones_here << np.uint64(level)
        counts[i] += np.int64(total)
    for i in range(PLANES * lanes):
        planes[i] = ZERO


@compiled
def count_words(
    output: Array,
    size: int,
    weight: int,
    masks: Array,
    answered: Array,
    counts: Array,
    lanes: Array,
    planes: Array,
    groups: Array,
    faults: Array,
) -> int:
    """Count whole groups of rows of a plan with one question, a set of at most 64 members. Return how many rows.

    Most of many rows are counted in lanes, by instructions for several of them at once. Lanes are empty before and
    after: to read them out takes as long as to count some thousand rows.
    """
    words, wide, upright, mask, found = (
        pointer(output),
        pointer(lanes),
        pointer(planes),
        pointer(masks),
        pointer(counts),
    )
    bad_spare, bad_set = find_bad(words, len(output) // GROUP * GROUP, size, weight, mask)
    done = filled = 0
    if len(output) >= MANY:
        while done + GROUP * LANES <= len(output):
            add_lanes(wide, shifted(words, done), LANES)
            done += GROUP * LANES
            filled += 1
            if filled == FULL:
                read_lanes(wide, found, size, LANES)
                filled = 0
        read_lanes(wide, found, size, LANES)
    while done + GROUP <= len(output):
        add_group(upright, shifted(words, done))
        done += GROUP
        groups[0] += 1
        if groups[0] == FULL:
            read_out(planes[0], output, 0, counts[:size])
            groups[0] = 0
    answered[0] += done
    faults[0, SPARE_BITS] += bad_spare
    faults[0, WRONG_SET] += bad_set
    return done


@inlined
def find_bad(words: Array, rows: int, size: int, weight: int, mask: Array) -> Any:
    """Return how many sets have a member that does not exist, and how many are no sets of the plan."""
    bad_spare = bad_set = 0
    spare = ALL << np.uint64(size) if size < 64 else ZERO
    if weight >= 0:
        for i in range(rows):
            word = np.uint64(words[i])
            bad_spare += word & spare != ZERO
            bad_set += (ones(word) != weight) | twice(word, mask)
    elif size < 64:
        for i in range(rows):
            bad_spare += np.uint64(words[i]) & spare != ZERO
    return bad_spare, bad_set


@inlined
def twice(word: Any, mask: Array) -> Any:
    """Return whether a word has two members of one group (`hush.core.columnar.pieces`)."""
    return word & ((word | mask[TOPS]) - mask[STARTS]) != ZERO


@compiled
def count_parts(
    attribute: Array,
    part: Array,
    output: Array,
    size: int,
    rows: int,
    weight: int,
    masks: Array,
    answered: Array,
    counts: Array,
) -> int:
    """Count rows of a plan with one question, a set of several parts, as long as they follow the rules.

    Return how many rows. Sets are taken a round at a time, and the words of one part are copied side by side: then the
    loops over them have a fixed length, and the compiler takes several at once. From the first round with a bad row on,
    rows are left to `count_rows`, and so are the last few.
    """
    which, blocks, words, mask = pointer(attribute), pointer(part), pointer(output), pointer(masks)
    room, planes = np.empty((2 + rows) * ROUND, dtype=np.uint64), np.zeros(rows * PLANES * ABREAST, dtype=np.uint64)
    held, wide, found = shifted(pointer(room), 2 * ROUND), pointer(planes), pointer(counts)
    done = filled = 0
    while done + ROUND * rows <= len(output):
        if are_other_rows(shifted(which, done), shifted(blocks, done), ROUND * rows, rows):
            break
        for block in range(rows):
            mine, here = shifted(held, ROUND * block), shifted(words, done + block)
            for i in range(ROUND):
                mine[i] = np.uint64(here[i * rows])
        if find_bad_sets(held, size, rows, weight, mask, pointer(room)):
            break
        for block in range(rows):
            add_lanes(shifted(wide, PLANES * ABREAST * block), shifted(held, ROUND * block), ABREAST)
        done += ROUND * rows
        filled += 1
        if filled == FULL:
            read_parts(wide, found, size, rows)
            filled = 0
    if filled:
        read_parts(wide, found, size, rows)
    answered[0] += done // rows
    return done


@inlined
def are_other_rows(which: Array, blocks: Array, count: int, rows: int) -> Any:
    """Return whether some rows are not those of the only question, with its parts in order."""
    other = np.uint16(0)
    for i in range(rows):
        other = np.uint16(other | np.uint16(blocks[i] ^ i))
    for i in range(rows, count):
        other = np.uint16(other | np.uint16(blocks[i]) ^ np.uint16(blocks[i - rows]))
    for i in range(count):
        other = np.uint16(other | np.uint16(which[i]))
    return other != 0


@inlined
def find_bad_sets(words: Array, size: int, rows: int, weight: int, masks: Array, room: Array) -> Any:
    """Return whether a set of a round breaks a rule of `count_rows`. The words of one part are side by side.

    `room` gets the members of each set so far, and then all ones where the group that goes on has one.
    """
    bad, spare = ZERO, ALL << np.uint64(size & 63) if size & 63 else ZERO
    members, taken, last = room, shifted(room, ROUND), shifted(words, ROUND * (rows - 1))
    for i in range(ROUND):
        bad |= last[i] & spare
        members[i] = taken[i] = ZERO
    for block in range(rows if weight >= 0 else 0):
        mask, here = shifted(masks, 4 * block), shifted(words, ROUND * block)
        tops, starts, before, after = mask[TOPS], mask[STARTS], mask[BEFORE], mask[AFTER]
        going = ZERO - mark(before & after != ZERO)
        for i in range(ROUND):
            word = here[i]
            bad |= word & ((word | tops) - starts) | word & before & taken[i]
            taken[i] = (ZERO - mark(word & after != ZERO)) | taken[i] & going
            members[i] += np.uint64(ones(word))
    for i in range(ROUND if weight >= 0 else 0):
        bad |= members[i] ^ np.uint64(weight)
    return bad != ZERO


@inlined
def read_parts(planes: Array, counts: Array, size: int, rows: int) -> None:
    """Add the counters of each part to plain counts, and clear them."""
    for block in range(rows):
        mine, found = shifted(planes, PLANES * ABREAST * block), shifted(counts, 64 * block)
        read_lanes(mine, found, min(size - 64 * block, 64), ABREAST)


@compiled
def count_rows(
    attribute: Array,
    part: Array,
    output: Array,
    sizes: Array,
    starts: Array,
    rows: Array,
    weights: Array,
    slots: Array,
    masks: Array,
    answered: Array,
    counts: Array,
    planes: Array,
    waiting: Array,
    fills: Array,
    groups: Array,
    open_set: Array,
    faults: Array,
) -> None:
    """Count rows of any plan.

    `weights`: `SYMBOL`, `ANY_SET`, or the size of sets. `slots`: the first of a question's upright counters, one for
    each part. `masks`: for each of these parts the pieces of its groups, the members of the group that began in an
    earlier part, and those of the group that goes on in a later one. `open_set`: question, parts seen, members, and
    whether the group that goes on has one, of the set whose parts are being read: they may continue in the next call.
    """
    which, blocks, outputs, found = pointer(attribute), pointer(part), pointer(output), pointer(counts)
    size_of, start_of, rows_of, weight_of = pointer(sizes), pointer(starts), pointer(rows), pointer(weights)
    slot_of, filled, held, upright = pointer(slots), pointer(fills), pointer(waiting), pointer(planes)
    wide, questions = len(part) > 0, np.uint64(len(sizes))
    opened, seen, members, taken = open_set[0], open_set[1], open_set[2], open_set[3] != 0
    for i in range(len(attribute)):
        index = np.int64(which[i])
        if np.uint64(index) >= questions:
            faults[len(sizes), UNKNOWN] += 1
            continue
        block = np.int64(blocks[i]) if wide else 0
        if block != seen or (block and index != opened):
            faults[index, WRONG_PARTS] += 1
            continue
        weight, size = weight_of[index], size_of[index] - 64 * block
        if weight == SYMBOL:
            symbol = np.uint64(outputs[i])
            if symbol >= np.uint64(size):
                faults[index, OUTSIDE] += 1
            else:
                found[start_of[index] + np.int64(symbol)] += 1
            answered[index] += 1
            continue
        word = np.uint64(outputs[i])
        if size < 64 and word >> np.uint64(size):
            faults[index, SPARE_BITS] += 1
        slot = slot_of[index] + block
        if weight >= 0:
            mask = shifted(pointer(masks), 4 * slot)
            members += ones(word)
            again = taken and word & mask[BEFORE] != ZERO
            if again or twice(word, mask) or (block == rows_of[index] - 1 and members != weight):
                faults[index, WRONG_SET] += 1
            # A group that fills the whole part goes on with the members that it has.
            taken = word & mask[AFTER] != ZERO or (taken and mask[BEFORE] & mask[AFTER] != ZERO)
        opened, seen = index, seen + 1
        if seen == rows_of[index]:
            seen = members = 0
            taken = False
        answered[index] += block == 0
        waits = shifted(held, GROUP * slot)
        waits[filled[slot]] = word
        filled[slot] += 1
        if filled[slot] == GROUP:
            add_group(shifted(upright, PLANES * slot), waits)
            filled[slot] = 0
            groups[slot] += 1
            if groups[slot] == FULL:
                start = start_of[index] + 64 * block
                read_out(planes[slot], waiting[slot], 0, counts[start : start + min(size, 64)])
                groups[slot] = 0
    open_set[0], open_set[1], open_set[2], open_set[3] = opened, seen, members, np.int64(taken)


@compiled
def count_whole(
    attribute: Array,
    part: Array,
    output: Array,
    plan: Array,
    masks: Array,
    k: int,
    planes: Array,
    waiting: Array,
    room: Array,
    faults: Array,
    vector: Array,
) -> bool:
    """Count all rows of one small batch into an empty vector. Return whether they are whole reports.

    The rules are those of `count_rows`. If one is broken, `vector` is meaningless, and counting again in steps finds
    the rule. `plan` has sizes, starts, rows, weights and slots; `room` has fills and groups. One call costs less than
    the six calls of counting in steps, which matters for a thousand rows.
    """
    questions, slots = plan.shape[1] - 1, len(planes)
    sizes, starts, rows, weights = plan[0, :questions], plan[1], plan[2, :questions], plan[3, :questions]
    places = plan[4, :questions]
    answered, counts = vector[1 : 1 + questions], vector[1 + questions :]
    fills, groups = room[0, :slots], room[1, :slots]
    open_set = np.zeros(4, dtype=np.int64)
    count_rows(
        attribute,
        part,
        output,
        sizes,
        starts,
        rows,
        weights,
        places,
        masks,
        answered,
        counts,
        planes,
        waiting,
        fills,
        groups,
        open_set,
        faults,
    )
    empty_planes(weights, rows, places, starts, planes, waiting, fills, groups, counts)
    good = open_set[1] == 0
    for i in range(faults.shape[0]):
        for j in range(faults.shape[1]):
            good = good and faults[i, j] == 0
            faults[i, j] = 0
    total = most = np.int64(0)
    for i in range(questions):
        total += answered[i]
        most = max(most, answered[i])
    vector[0] = total // k
    return bool(good and total % k == 0 and most <= vector[0])
