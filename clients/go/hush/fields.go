package hush

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// fields of an object that is being checked. The first rule that is broken is kept, so that a reader asks for all fields
// first and looks for an error once.
type fields struct {
	values object
	err    error
}

// open checks that the value is an object with exactly these fields.
func open(value any, names ...string) *fields {
	values, ok := value.(object)
	f := &fields{values: values}
	if !ok || len(values) != len(names) {
		f.fail(names)
	}
	for _, name := range names {
		if _, ok := values[name]; !ok {
			f.fail(names)
		}
	}
	return f
}

func (f *fields) fail(names []string) {
	sorted := append([]string(nil), names...)
	sort.Strings(sorted)
	f.refuse("must be an object with exactly the fields %s", strings.Join(sorted, ", "))
}

func (f *fields) refuse(format string, arguments ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, arguments...)
	}
}

// rule refuses unless the condition holds.
func (f *fields) rule(holds bool, format string, arguments ...any) {
	if !holds {
		f.refuse(format, arguments...)
	}
}

func (f *fields) text(name string) string {
	text, ok := f.values[name].(string)
	f.rule(ok, "%s must be text", name)
	return text
}

func (f *fields) boolean(name string) bool {
	value, ok := f.values[name].(bool)
	f.rule(ok, "%s must be true or false", name)
	return value
}

func (f *fields) array(name string) []any {
	values, ok := f.values[name].([]any)
	f.rule(ok, "%s must be an array", name)
	return values
}

// integer is a plain integer from low to high. It is low if the field is bad.
func (f *fields) integer(name string, low, high int64) int64 {
	value, ok := asInteger(f.values[name])
	if !ok || value < low || value > high {
		f.refuse("%s must be an integer from %d to %d", name, low, high)
		return low
	}
	return value
}

func (f *fields) size(name string, low, high int) int {
	return int(f.integer(name, int64(low), int64(high)))
}

// big is a string of digits without leading zeros, of an integer from 1 to 2^64 - 1.
func (f *fields) big(name string) uint64 { return f.asBig(name, f.values[name]) }

func (f *fields) bigs(name string) []uint64 {
	var result []uint64
	for _, value := range f.array(name) {
		result = append(result, f.asBig(name, value))
	}
	return result
}

func (f *fields) asBig(name string, value any) uint64 {
	text, ok := value.(string)
	number, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil || number == 0 || strconv.FormatUint(number, 10) != text {
		f.refuse("%s must be an integer from 1 to 2^64 - 1, as a string of digits", name)
		return 1
	}
	return number
}

// asInteger is the value of a JSON number without fraction and exponent that fits into 64 bits.
func asInteger(value any) (int64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	result, err := strconv.ParseInt(string(number), 10, 64)
	return result, err == nil
}
