package configtest

import (
	"fmt"
	"slices"
	"strings"
	"testing/fstest"
)

// A Hostile is a small directory that costs HCL, or what is built on it, hours
// or all memory.
type Hostile struct {
	Name  string
	Files map[string]string // besides a cluster block

	Want  string // a part of one of the errors, summary and detail
	Valid bool   // it has no errors
}

// Cluster is the block that every directory has.
const Cluster = `cluster {
  name   = "test"
  region = "us-ord"
}
`

// FS is the directory with a cluster block.
func (h Hostile) FS() fstest.MapFS {
	files := fstest.MapFS{"cluster.lke.hcl": {Data: []byte(Cluster)}}
	for name, text := range h.Files {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// Hostiles returns all of them.
func Hostiles() []Hostile {
	return slices.Concat(nested(), scanned(), numbers(), multiplied(), looped(), matched(), repeated(), inJSON(),
		reported(), modules())
}

func native(name, text string) Hostile {
	return Hostile{Name: name, Files: map[string]string{"main.lke.hcl": text}}
}

// locals is a file with one locals block.
func locals(name string, lines ...string) Hostile {
	return native(name, "locals {\n"+strings.Join(lines, "\n")+"\n}\n")
}

func (h Hostile) valid() Hostile {
	h.Valid = true
	return h
}

func (h Hostile) want(text string) Hostile {
	h.Want = text
	return h
}

const room = 250 << 10 // below the limit of a file

// fill repeats a part until a file is full.
func fill(part string) string { return strings.Repeat(part, room/len(part)) }

func fillPair(open, shut string) string {
	n := room / (len(open) + len(shut))
	return strings.Repeat(open, n) + strings.Repeat(shut, n)
}

// numbered writes a text n times, with a number in it as often as it likes.
func numbered(n int, text string) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return all.String()
}
