package hush

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
)

type textFile struct {
	About  string
	Chunks [][]int
	Points []int
	Good   []struct {
		Attribute json.RawMessage
		Value     string
		Code      string
		Points    []int
		Among     int
	}
	BadValues []struct{ Why, JSON string } `json:"bad_values"`
	GoodViews []json.RawMessage            `json:"good_views"`
	BadViews  []struct {
		Why  string
		View json.RawMessage
	} `json:"bad_views"`
	BadAttributes []struct {
		Why       string
		Attribute json.RawMessage
	} `json:"bad_attributes"`
	Schemas []struct {
		Fits  bool
		Texts []struct {
			Attribute   map[string]any
			Times, Rows int
		}
	}
}

func TestAllTextsOfASchemaAreBounded(t *testing.T) {
	var file textFile
	load(t, "texts.json", &file)
	if len(file.Schemas) < 5 {
		t.Fatal("too few schemas")
	}
	for i, case_ := range file.Schemas {
		items := []map[string]any{}
		for _, one := range case_.Texts {
			for n := 0; n < one.Times; n++ {
				item := map[string]any{}
				for key, value := range one.Attribute {
					item[key] = value
				}
				code := []any{}
				for n := 0; n < one.Rows; n++ {
					code = append(code, one.Attribute["code"].([]any)[0])
				}
				item["name"], item["code"] = fmt.Sprintf("t%d", len(items)), code
				items = append(items, item)
			}
		}
		text, err := json.Marshal(items)
		if err != nil {
			t.Fatal(err)
		}
		_, err = readSchema(mustRead(t, text))
		if (err == nil) != case_.Fits || err != nil && !strings.Contains(err.Error(), "131072 digits") {
			t.Errorf("schema %d: %v", i, err)
		}
	}
}

func mustRead(t *testing.T, text []byte) any {
	t.Helper()
	value, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// textViews are those of the vectors: every prefix for every number of points, and then the listed texts.
func textViews(t *testing.T, file *textFile, schema []*attribute) []*view {
	t.Helper()
	var views []*view
	for _, chunks := range file.Chunks {
		for _, points := range file.Points {
			text, _ := json.Marshal(map[string]any{"kind": "prefix", "of": []string{"word"}, "chunks": chunks, "points": points})
			v, err := readView(mustRead(t, text), schema)
			if err != nil {
				t.Fatal(err)
			}
			views = append(views, v)
		}
	}
	v, err := readView(mustRead(t, []byte(`{"kind":"among","of":["word"],"values":["","a"]}`)), schema)
	if err != nil {
		t.Fatal(err)
	}
	return append(views, v)
}

func TestTexts(t *testing.T) {
	var file textFile
	load(t, "texts.json", &file)
	for i, case_ := range file.Good {
		a, err := readAttribute(mustRead(t, case_.Attribute))
		if err != nil {
			t.Fatal(err)
		}
		found, err := a.encode(case_.Value)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		bits := new(big.Int).SetUint64(found.code.high)
		bits.Or(bits.Lsh(bits, 64), new(big.Int).SetUint64(found.code.low))
		if bits.String() != case_.Code {
			t.Errorf("%d: the code of %q is %s, not %s", i, case_.Value, bits, case_.Code)
		}
		for j, v := range textViews(t, &file, []*attribute{a}) {
			want := case_.Among
			if j < len(case_.Points) {
				want = case_.Points[j]
			}
			if got := v.look([]input{found}).index; got != want {
				t.Errorf("%d: view %d gives %d, not %d", i, j, got, want)
			}
			if gone := v.look([]input{{missing: 1}}).index; a.optional && gone != v.seen.categories()-1 {
				t.Errorf("%d: view %d gives %d for a missing text", i, j, gone)
			}
		}
	}
	a, err := readAttribute(mustRead(t, file.Good[0].Attribute))
	if err != nil || a.optional {
		t.Fatal("the first text must not be optional")
	}
	for _, bad := range file.BadValues {
		value, err := parse([]byte(bad.JSON))
		if err == nil {
			_, err = a.encode(value)
		}
		if err == nil {
			t.Errorf("%s: it is taken", bad.Why)
		}
	}
	for _, bad := range file.BadAttributes {
		if _, err := readAttribute(mustRead(t, bad.Attribute)); err == nil {
			t.Errorf("%s: it is taken", bad.Why)
		}
	}
	checkViews(t, &file)
	if len(file.Good) == 0 || len(file.BadValues) == 0 || len(file.BadAttributes) == 0 {
		t.Error("no vectors")
	}
}

// checkViews reads views of the text "ab", which has few letters and bits.
func checkViews(t *testing.T, file *textFile) {
	t.Helper()
	plain := object{}
	for key, value := range mustRead(t, file.BadAttributes[0].Attribute).(object) {
		plain[key] = value
	}
	plain["length"] = json.Number("4") // what is bad about it
	a, err := readAttribute(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, view := range file.GoodViews {
		if _, err := readView(mustRead(t, view), []*attribute{a}); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range file.BadViews {
		if _, err := readView(mustRead(t, bad.View), []*attribute{a}); err == nil {
			t.Errorf("%s: it is taken", bad.Why)
		}
	}
	number := &attribute{name: "word", high: 1}
	if _, err := readView(mustRead(t, file.GoodViews[0]), []*attribute{number}); err == nil {
		t.Error("a prefix of a number is taken")
	}
}

func TestInvalidTextIsRefused(t *testing.T) {
	var file textFile
	load(t, "texts.json", &file)
	a, err := readAttribute(mustRead(t, file.Good[0].Attribute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.encode("a\xff"); err == nil {
		t.Error("a byte that is no character is taken")
	}
	if _, err := a.encode(strings.Repeat("a", 64) + "\xff"); err != nil {
		t.Errorf("a character that is not looked at: %v", err)
	}
	if _, err := a.encode(strings.Repeat("日", mostText)); err != nil {
		t.Error(err)
	}
}
