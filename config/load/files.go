package load

import (
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// Text returns the content of a file.
func (r Reader) Text(name string) (string, error) {
	full, err := r.resolve(name)
	if err != nil {
		return "", err
	}
	t := r.tree
	if text, ok := t.texts[full]; ok {
		return text, nil
	}
	data, err := readLimited(t.fsys, full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("file %q does not exist; paths are relative to the directory of this file", name)
	case err != nil:
		return "", fmt.Errorf("read %q: %w", name, causeOf(err))
	case len(data) > syntax.MaxFileSize:
		return "", fmt.Errorf("%q is larger than %d bytes", name, syntax.MaxFileSize)
	case t.textSize()+len(data) > MaxBytes:
		return "", fmt.Errorf("with %q, the files read are larger than %d MiB in total", name, MaxBytes>>20)
	}
	if data, err = schemas.UTF8(data); err != nil || !utf8.Valid(data) {
		return "", fmt.Errorf("%q is not text in UTF-8", name)
	}
	t.texts[full] = string(data)
	return t.texts[full], nil
}

func (t *Tree) textSize() (n int) {
	for _, text := range t.texts {
		n += len(text)
	}
	return n
}

// causeOf returns an error without the operation and the path that a file system adds.
func causeOf(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
