package isolate

import (
	archive "archive/tar"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/fluxcd/pkg/tar"

	"github.com/lkeplan/lkeplan/schemas"
)

// Unpack writes the readable files of a tar.gz archive into a directory. A path that leaves the
// directory is an error, and so is an archive that exceeds the limits. Files that are too large, and
// links, become barriers.
func Unpack(from io.Reader, dir string) error {
	var tooMany error
	var entries int // and the directories that are created for them
	var barred []barrier
	filter := func(name string, info fs.FileInfo) bool {
		useful := isLink(info) || !info.IsDir() && schemas.Readable(name)
		skip := isLink(info) || !info.IsDir() && (!useful || info.Size() > maxFile)
		if skip && useful {
			barred = append(barred, barrier{name, isLink(info)})
		}
		entries++
		if useful || !skip {
			entries += strings.Count(name, "/")
		}
		if entries > maxEntries {
			tooMany = fmt.Errorf("it has more than %d files and directories; exclude files that are not needed from the source",
				maxEntries)
		}
		return skip || tooMany != nil
	}
	err := tar.Untar(until{from, &tooMany}, dir,
		tar.WithMaxUntarSize(maxUnpacked), tar.WithSkipSymlinks(), tar.WithFilter(filter))
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	if tooMany != nil {
		return tooMany
	}
	return barAll(dir, barred)
}

// isLink also recognizes hard links, which have the mode of a regular file.
func isLink(info fs.FileInfo) bool {
	header, ok := info.Sys().(*archive.Header)
	return info.Mode()&fs.ModeSymlink != 0 || ok && header.Typeflag == archive.TypeLink
}

// until reads until there is an error.
type until struct {
	io.Reader
	err *error
}

// Read implements io.Reader.
func (u until) Read(p []byte) (int, error) {
	if *u.err != nil {
		return 0, *u.err
	}
	return u.Reader.Read(p)
}
