package hush

import "fmt"

// channel is a way to report the values of a question. The kinds are in files of their own.
type channel interface {
	// fit refuses attributes that the channel is not made for.
	fit(attributes []*attribute) error
	// ratio is the largest quotient of an output's probabilities under two inputs.
	ratio() fraction
	alphabet() alphabet
	draw(c *coins, inputs []input) output
}

// output is a symbol, or a set: a byte for each index, 1 if it is in.
type output struct {
	symbol int
	set    []byte
}

// alphabet says which outputs there are: one of size symbols, or sets of indices below size.
type alphabet struct {
	size    int
	set     bool
	members int  // the size of each set; -1: any
	sparse  bool // most symbols are never reported: tallies write runs of zeros
	group   int  // a set has at most one of group neighbours, beginning with a multiple of group; 0: any
}

// kinds makes channels from JSON. Adding a kind is a file and a line here.
var kinds = map[string]func(value any) (channel, error){
	"window":   readWindow,
	"mixture":  readMixture,
	"subset":   readSubset,
	"unary":    readUnary,
	"additive": readAdditive,
	"signs":    readSigns,
	"cube":     readCube,
	"corners":  readCorners,
	"cells":    readCells,
	"rows":     readRows,
	"ladder":   readLadder,
	"picks":    readPicks,
	"geometry": readGeometry,
}

func readChannel(value any) (channel, error) {
	values, _ := value.(object)
	kind, _ := values["kind"].(string)
	read := kinds[kind]
	if read == nil {
		return nil, fmt.Errorf("there is no channel of this kind")
	}
	made, err := read(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return made, nil
}

// oneNumber refuses what is not one numeric attribute, optional or not as it should be.
func oneNumber(attributes []*attribute, optional bool) error {
	if len(attributes) != 1 || !attributes[0].numeric() || attributes[0].optional != optional {
		if optional {
			return fmt.Errorf("it needs one numeric attribute, which is optional")
		}
		return fmt.Errorf("it needs one numeric attribute, which is not optional")
	}
	return nil
}

// oneCategory refuses what is not one categorical attribute with n categories.
func oneCategory(attributes []*attribute, n int) error {
	if len(attributes) != 1 || attributes[0].numeric() || attributes[0].categories() != n {
		return fmt.Errorf("it needs one categorical attribute with %d categories, \"missing\" among them if it is optional", n)
	}
	return nil
}

// numbers refuses what is not n numeric attributes that are not optional.
func numbers(attributes []*attribute, n int) error {
	fits := len(attributes) == n
	for _, a := range attributes {
		fits = fits && a.numeric() && !a.optional
	}
	if !fits {
		return fmt.Errorf("it needs %d numeric attributes, none of them optional", n)
	}
	return nil
}
