package hush

import "fmt"

const (
	mostTable    = 4096
	mostTogether = 12
)

// cells reports a few small attributes together, as a set of cells of their table.
type cells struct {
	sizes []int // 0 for a number
	table subset
}

func readCells(value any) (channel, error) {
	f := open(value, "kind", "sizes", "weight", "threshold")
	sizes := f.array("sizes")
	f.rule(len(sizes) >= 1 && len(sizes) <= mostTogether, "sizes must be 1 to %d", mostTogether)
	t := &cells{table: subset{size: 1, threshold: f.big("threshold")}}
	for _, value := range sizes {
		if value == nil {
			t.sizes = append(t.sizes, 0)
			t.table.size *= 2
		} else {
			size, ok := asInteger(value)
			f.rule(ok && 2 <= size && size <= mostTable, "sizes must be integers from 2 on, or null")
			t.sizes = append(t.sizes, int(size))
			t.table.size *= int(size)
		}
		f.rule(t.table.size <= mostTable, "there must be at most %d cells", mostTable)
		if f.err != nil {
			return nil, f.err
		}
	}
	t.table.weight = f.size("weight", 1, most(t.table.size-1, 1))
	f.rule(f.err != nil || t.ratio().exceeds(one), "threshold must prefer the true cell")
	return t, f.err
}

func (t *cells) fit(attributes []*attribute) error {
	fits := len(attributes) == len(t.sizes)
	for i := 0; i < len(t.sizes) && fits; i++ {
		a := attributes[i]
		if t.sizes[i] == 0 {
			fits = a.numeric() && !a.optional
		} else {
			fits = !a.numeric() && a.categories() == t.sizes[i]
		}
	}
	if !fits {
		return fmt.Errorf("it needs an attribute for each size: categorical with as many categories, or numeric for null")
	}
	return nil
}

func (t *cells) ratio() fraction { return t.table.ratio() }

func (t *cells) alphabet() alphabet { return t.table.alphabet() }

func (t *cells) draw(c *coins, inputs []input) output {
	cell := 0
	for i, size := range t.sizes {
		if size == 0 {
			cell = 2*cell + int(c.up(inputs[i].u))
		} else {
			cell = size*cell + inputs[i].index
		}
	}
	return t.table.draw(c, []input{{index: cell}})
}
