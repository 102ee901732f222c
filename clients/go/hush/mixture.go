package hush

import "math/bits"

// mixture draws one of several windows, with given shares. Its outputs are those of all parts, one after the other.
type mixture struct {
	ends   []uint64 // cumulated shares, without the last, which is 2^64
	parts  []*window
	starts []int // the first output of each part
	size   int
}

func readMixture(value any) (channel, error) {
	f := open(value, "kind", "shares", "parts")
	m := &mixture{}
	shares, parts := f.bigs("shares"), f.array("parts")
	f.rule(len(parts) >= 2 && len(parts) <= 8 && len(shares) == len(parts), "parts must be 2 to 8, with a share for each")
	for _, value := range parts {
		values, _ := value.(object)
		f.rule(values["kind"] == "window", "parts must be windows")
		part, err := readOneWindow(value)
		f.rule(err == nil, "a part: %w", err)
		f.rule(len(m.parts) == 0 || part.optional == m.parts[0].optional, "parts must be optional all, or none")
		m.parts, m.starts = append(m.parts, part), append(m.starts, m.size)
		m.size += part.alphabet().size
	}
	sum, carries := uint64(0), uint64(0)
	for i, share := range shares {
		var carry uint64
		sum, carry = bits.Add64(sum, share, 0)
		carries += carry
		if i < len(shares)-1 {
			m.ends = append(m.ends, sum)
		}
	}
	f.rule(sum == 0 && carries == 1, "shares must add up to 2^64")
	return m, f.err
}

func (m *mixture) fit(attributes []*attribute) error {
	return oneNumber(attributes, m.parts[0].optional)
}

func (m *mixture) ratio() fraction {
	largest := m.parts[0].law
	for _, part := range m.parts {
		if part.law.exceeds(largest) {
			largest = part.law
		}
	}
	return largest
}

func (m *mixture) alphabet() alphabet { return alphabet{size: m.size} }

// draw takes as long as its part. That is no secret: the output says which part it is.
func (m *mixture) draw(c *coins, inputs []input) output {
	x, part := c.word(), 0
	for _, end := range m.ends {
		part += int(1 - less(x, end))
	}
	return output{symbol: m.starts[part] + m.parts[part].draw(c, inputs).symbol}
}
