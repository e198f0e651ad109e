package fetch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage"
)

// The limits for the objects of a fetched repository: the packed size of all, the unpacked size of one
// and of all, in bytes, and their number. The library reads whole objects into memory, and a few
// hundred kilobytes can unpack to a file of gigabytes.
const (
	maxPack    = 200 << 20
	maxObject  = 100 << 20
	maxObjects = 4 << 30
	maxCount   = 1_000_000
)

// screening is a store that refuses objects that exceed the limits.
type screening struct {
	storage.Storer
	dir string // for packs that are not screened yet
}

// PackfileWriter implements storer.PackfileWriter.
func (s screening) PackfileWriter() (io.WriteCloser, error) {
	to, ok := s.Storer.(storer.PackfileWriter)
	if !ok {
		return nil, errors.New("the store does not accept packs")
	}
	file, err := os.CreateTemp(s.dir, "pack-")
	return &screened{file: file, to: to}, err
}

// screened is a pack that is first written to a file.
type screened struct {
	file *os.File
	size int64
	to   storer.PackfileWriter
}

// Write implements io.Writer.
func (s *screened) Write(p []byte) (int, error) {
	if s.size += int64(len(p)); s.size > maxPack {
		return 0, fmt.Errorf("the repository is larger than %d MiB; fetch it with Flux, and ignore files that are not needed",
			maxPack>>20)
	}
	return s.file.Write(p)
}

// Close stores the pack, if nothing exceeds the limits.
func (s *screened) Close() (err error) {
	defer func() { err = errors.Join(err, s.file.Close(), os.Remove(s.file.Name())) }()
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := screen(s.file); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w, err := s.to.PackfileWriter()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, s.file)
	return errors.Join(err, w.Close())
}

// screen reads the size of each object of a pack without keeping it.
func screen(pack io.Reader) error {
	scanner := packfile.NewScanner(pack)
	_, objects, err := scanner.Header()
	if err != nil {
		return fmt.Errorf("read the pack: %w", err)
	}
	if objects > maxCount {
		return fmt.Errorf("the commit has %d objects, but at most %d are allowed; fetch it with Flux", objects, maxCount)
	}
	total := int64(0)
	for range objects {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return fmt.Errorf("read the pack: %w", err)
		}
		var object measured
		if _, _, err := scanner.NextObject(&object); err != nil {
			return fmt.Errorf("read the pack: %w", err)
		}
		size := object.size
		if header.Type.IsDelta() {
			size = max(size, object.resultSize())
		}
		if total += size; size > maxObject || total > maxObjects {
			return errTooLarge
		}
	}
	return nil
}

var errTooLarge = fmt.Errorf("the repository has a file of more than %d MiB, or its files have more than %d GiB together; "+
	"fetch it with Flux, and ignore files that are not needed", maxObject>>20, maxObjects>>30)

// measured is the size of an object that is written to it, and its first bytes.
type measured struct {
	size  int64
	begin []byte
}

// Write implements io.Writer.
func (m *measured) Write(p []byte) (int, error) {
	if m.size += int64(len(p)); m.size > maxObject {
		return 0, errTooLarge
	}
	const sizes = 2 * binary.MaxVarintLen64
	m.begin = append(m.begin, p[:min(len(p), sizes-min(len(m.begin), sizes))]...)
	return len(p), nil
}

// resultSize is the size of the object that a delta creates. A delta starts with two sizes: that of the
// object that it is applied to, and that of the result.
func (m *measured) resultSize() int64 {
	_, n := binary.Uvarint(m.begin)
	size, _ := binary.Uvarint(m.begin[max(n, 0):])
	return int64(min(size, maxObjects))
}
