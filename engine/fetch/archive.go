package fetch

import (
	archive "archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"

	"github.com/fluxcd/pkg/tar"
)

// Unpack writes the readable files of a tar.gz archive into a directory. A path
// that leads out of it is an error, and so is an archive beyond the bounds. Links
// are left out; one with the name of a configuration file is an error.
func Unpack(from io.Reader, dir string) error {
	var link, tooMany error
	var found tally
	filter := func(name string, info fs.FileInfo) bool {
		if isLink(info) {
			link = cmp.Or(link, refuseLink(name))
		}
		skip := leftOut(name, info)
		tooMany = cmp.Or(tooMany, found.add(name, !skip))
		return skip || tooMany != nil
	}
	err := tar.Untar(until{from, &tooMany}, dir,
		tar.WithMaxUntarSize(maxUnpacked), tar.WithSkipSymlinks(), tar.WithFilter(filter))
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	return cmp.Or(tooMany, link)
}

// Pack returns the readable files of a directory as a tar.gz archive.
func Pack(dir string) ([]byte, error) {
	var b bytes.Buffer
	_, err := tar.Tar(dir, &b, tar.WithFilter(leftOut))
	return b.Bytes(), err
}

// leftOut reports whether an entry of an archive or directory is skipped. The mode
// of a hard link is that of a regular file.
func leftOut(name string, info fs.FileInfo) bool {
	return isLink(info) || !info.IsDir() && !Readable(name, info.Size())
}

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
