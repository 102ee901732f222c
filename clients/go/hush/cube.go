package hush

import (
	"math/big"
	"math/bits"
)

const mostSample = 64

// cube reports the signs of a sample of numbers: at least agree of them as the rounded input has them, with probability
// threshold / 2^64.
type cube struct {
	size, sample, agree int
	threshold           uint64
	near                uint64     // A of the specification: corners that agree
	tails               [][]uint64 // tails[m][a]: corners of m signs with at least a ones
}

func readCube(value any) (channel, error) {
	f := open(value, "kind", "size", "sample", "agree", "threshold")
	q := &cube{size: f.size("size", 1, mostSigns), threshold: f.big("threshold")}
	q.sample = f.size("sample", 1, least(q.size, mostSample))
	q.agree = f.size("agree", q.sample/2+1, q.sample)
	q.tails = [][]uint64{append([]uint64{1}, make([]uint64, q.sample+1)...)}
	for m := 1; m < q.sample; m++ {
		before := q.tails[m-1]
		row := append([]uint64{1 << m}, make([]uint64, q.sample+1)...)
		for a := 1; a <= q.sample; a++ {
			row[a] = before[a-1] + before[a]
		}
		q.tails = append(q.tails, row)
	}
	last := q.tails[q.sample-1]
	q.near = last[q.agree-1] + last[q.agree]
	f.rule(q.ratio().exceeds(one), "threshold must prefer near corners")
	return q, f.err
}

func (q *cube) fit(attributes []*attribute) error { return numbers(attributes, q.size) }

func (q *cube) ratio() fraction {
	far := new(big.Int).Lsh(big.NewInt(1), uint(q.sample))
	far.Sub(far, whole(q.near))
	return quotient(whole(q.threshold), far, rest(q.threshold), whole(q.near))
}

func (q *cube) alphabet() alphabet {
	return alphabet{size: 2 * q.size, set: true, members: q.sample, group: 2}
}

func (q *cube) draw(c *coins, inputs []input) output {
	v := make([]byte, q.size)
	for j := range v {
		v[j] = byte(c.up(inputs[j].u))
	}
	sample := c.subset(q.size, q.sample)
	near := c.toss(q.threshold)
	rank := c.below(1<<q.sample - q.near) // for a sample of 64 the shift gives 0, and the difference is right
	rank = choose(near, c.below(q.near), rank)
	set := make([]byte, 2*q.size)
	b, m := q.agree, q.sample-1
	for j, in := range sample {
		if in == 0 { // the output says which are in
			continue
		}
		tail := q.tails[m][positive(b-1)]
		count := choose(near, tail, 1<<m-tail)
		agrees := less(rank, count)
		rank -= choose(agrees, 0, count)
		b -= int(agrees)
		plus := v[j] ^ byte(1-agrees)
		set[2*j], set[2*j+1] = 1-plus, plus
		m--
	}
	return output{set: set}
}

// positive is max(x, 0), without a branch.
func positive(x int) int { return x &^ (x >> (bits.UintSize - 1)) }
