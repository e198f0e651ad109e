package load

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
)

// A Source is the content of one file.
type Source struct {
	Name string // in the file system
	Data []byte
}

// Tests reads the test files in a directory, ordered by name. A directory without tests is an
// error: a user who runs tests expects some.
func Tests(fsys fs.FS, dir string) (sources []Source, diags hcl.Diagnostics) {
	dir = path.Clean("./" + dir)
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, unreadableError(dir, err)
	}
	size := 0
	for _, entry := range entries {
		if entry.IsDir() || isHidden(entry.Name()) || !strings.HasSuffix(entry.Name(), schemas.TestSuffix) {
			continue
		}
		name := path.Join(dir, entry.Name())
		data, err := readLimited(fsys, name)
		if err != nil {
			diags = append(diags, unreadableError(name, err)...)
			continue
		}
		size += len(data)
		if size > MaxBytes || len(sources) == MaxFiles {
			return nil, hcl.Diagnostics{diag.Error("Too many tests",
				fmt.Sprintf("The directory %q contains more than %d test files, or more than %d MiB.", dir, MaxFiles,
					MaxBytes>>20))}
		}
		sources = append(sources, Source{name, data})
	}
	if len(sources) == 0 && !diags.HasErrors() {
		diags = append(diags, diag.Error("No tests",
			fmt.Sprintf("The directory %q contains no files named *%s.", dir, schemas.TestSuffix)))
	}
	return sources, diags
}
