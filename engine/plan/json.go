package plan

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// The json and doc tags of the types of this package are those of the document that lkeplan diff --output json prints,
// and of saved plans. Package report has the types of the parts that have another shape there. A doc tag describes a
// member in the schema of the document; "-" marks a member that only saved plans have.

// List is a list that is never null in JSON.
type List[T any] []T

// MarshalJSON implements json.Marshaler.
func (l List[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(append([]T{}, l...))
	return b.Bytes(), err
}

// Amount is money that JSON has in dollars with two decimals, as a string, so that no reader takes it for a float.
type Amount catalog.Money

// String writes the amount: 1296.00.
func (a Amount) String() string {
	sign := ""
	if a < 0 {
		sign, a = "-", -a
	}
	cents := (a + Amount(catalog.Dollar/200)) / Amount(catalog.Dollar/100)
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

// MarshalText implements encoding.TextMarshaler.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Amount) UnmarshalText(text []byte) error {
	m, err := catalog.ParseMoney(string(text))
	*a = Amount(m)
	return err
}

// Text writes the amount for people: $1,296.
func (a Amount) Text() string { return catalog.Money(a).Text() }
