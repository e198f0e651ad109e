package catalog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/schemas"
)

// MaxSnapshot is the largest snapshot that [Read] accepts, in bytes. The real one has about 25,000.
const MaxSnapshot = 4 << 20

var errSize = fmt.Errorf("larger than %d bytes", MaxSnapshot)

// Read reads a snapshot that [Catalog.MarshalText] wrote. Errors name the line. Unknown lines and fields are
// rejected, not skipped: a newer format has a higher version, and a wrong price is worse than none.
func Read(r io.Reader) (*Catalog, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSnapshot+1))
	if err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	if len(data) > MaxSnapshot {
		return nil, fmt.Errorf("read catalog: %w", errSize)
	}
	if data, err = schemas.UTF8(data); err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	var s reader
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, MaxSnapshot)
	for n := 1; lines.Scan(); n++ {
		if err := s.line(n, lines.Text()); err != nil {
			return nil, fmt.Errorf("read catalog: line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	if !s.begun {
		return nil, fmt.Errorf("read catalog: empty; want a first line %q", fmt.Sprintf("%s %d", magic, version))
	}
	c, err := New(s.date, s.source, s.plans, s.regions, s.rows)
	if err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	return c, nil
}

// reader collects facts from the lines that it has seen.
type reader struct {
	begun        bool
	date, source string
	plans        []Plan
	regions      []Region
	rows         []Availability
}

func (s *reader) line(n int, text string) error {
	if !s.begun {
		s.begun = true
		return checkHeader(text)
	}
	words, err := splitFields(text)
	if err != nil || len(words) == 0 {
		return err
	}
	if len(words) < 2 || words[1].key != "" {
		return fmt.Errorf("%s: want a name after it", words[0].value)
	}
	subject, fields := words[1].value, words[2:]
	switch kind := words[0].value; kind {
	case "date":
		s.date = subject
		return noFields(fields)
	case "source":
		s.source = subject
		return noFields(fields)
	case "region":
		return s.region(subject, fields)
	case "plan":
		return s.plan(subject, fields)
	case "limited":
		return s.limited(subject, fields)
	default:
		return fmt.Errorf("%.40q: want date, source, region, plan or limited", kind)
	}
}

func checkHeader(text string) error {
	name, rest, _ := strings.Cut(text, " ")
	if name != magic {
		return fmt.Errorf("not a catalog snapshot: want a first line %q", fmt.Sprintf("%s %d", magic, version))
	}
	if rest != strconv.Itoa(version) {
		return fmt.Errorf("snapshot version %.20q: this build reads version %d; refresh the snapshot or update lkeplan", rest,
			version)
	}
	return nil
}

func (s *reader) region(id string, fields []pair) error {
	r := Region{ID: id}
	facts := r.facts()
	for _, f := range fields {
		if err := f.fill(facts); err != nil {
			return fmt.Errorf("region %s: %w", id, err)
		}
	}
	s.regions = append(s.regions, r)
	return nil
}

func (s *reader) plan(id string, fields []pair) error {
	p := Plan{ID: id, RegionPrices: RegionPrices{}}
	facts := p.facts()
	for _, f := range fields {
		var err error
		if region, ok := strings.CutPrefix(f.key, "price@"); ok {
			p.RegionPrices[region], err = ParsePrice(f.value)
		} else {
			err = f.fill(facts)
		}
		if err != nil {
			return fmt.Errorf("plan %s: %w", id, err)
		}
	}
	s.plans = append(s.plans, p)
	return nil
}

// fill sets the fact that the word names.
func (f pair) fill(facts []fact) (err error) {
	i := slices.IndexFunc(facts, func(known fact) bool { return known.key == f.key })
	if i < 0 {
		return f.unknown()
	}
	switch at := facts[i].at.(type) {
	case *string:
		*at = f.value
	case *int:
		*at, err = f.count()
	case *Price:
		*at, err = ParsePrice(f.value)
	case *[]string:
		*at = append(*at, f.value)
	}
	return err
}

func (s *reader) limited(plan string, fields []pair) error {
	for _, f := range fields {
		if f.key != "sold" && f.key != "withheld" {
			return fmt.Errorf("limited %s: %w", plan, f.unknown())
		}
		for region := range strings.SplitSeq(f.value, ",") {
			s.rows = append(s.rows, Availability{Region: region, Plan: plan, Available: f.key == "sold"})
		}
	}
	return nil
}

// pair is one word of a line: key=value, or only a value.
type pair struct{ key, value string }

func (f pair) unknown() error { return fmt.Errorf("unknown field %.40q", f.key+"="+f.value) }

// count reads a whole number that is large enough for any plan and small enough for sums of bytes.
func (f pair) count() (int, error) {
	n, err := strconv.ParseUint(f.value, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s: %.40q is not a count", f.key, f.value)
	}
	return int(n), nil
}

func noFields(fields []pair) error {
	if len(fields) > 0 {
		return fields[0].unknown()
	}
	return nil
}

var errWord = errors.New("want key=value, with quotes around a value that has spaces")

// splitFields splits a line at its spaces; quoted values stay whole.
func splitFields(text string) ([]pair, error) {
	var words []pair
	for text = strings.TrimSpace(text); text != "" && text[0] != '#'; text = strings.TrimLeft(text, " ") {
		var f pair
		if i := strings.IndexAny(text, "= \""); i > 0 && text[i] == '=' {
			f.key, text = text[:i], text[i+1:]
		}
		value, rest, err := cutValue(text)
		if err != nil {
			return nil, err
		}
		f.value, text = value, rest
		words = append(words, f)
	}
	return words, nil
}

// cutValue cuts one value, quoted or plain, from the start of a text.
func cutValue(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		value, _, _ = strings.Cut(text, " ")
		return value, text[len(value):], nil
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", fmt.Errorf("%.40q: %w", text, errWord)
	}
	value, err = strconv.Unquote(quoted)
	if err != nil {
		return "", "", fmt.Errorf("%.40q: %w", text, errWord)
	}
	return value, text[len(quoted):], nil
}
