package nodeclaim

import (
	"strconv"
	"strings"
)

// MostSaid is how many bytes of a message an event has here. The API server refuses one with more than 1,024.
const MostSaid = 1000

// Shorten cuts a message so that an event takes it.
func Shorten(message string) string {
	if len(message) <= MostSaid {
		return message
	}
	const end = " ..."
	return strings.ToValidUTF8(message[:MostSaid-len(end)], "") + end
}

// Quoted is text of another author as a part of a message, at most that many bytes with the quotes. It is one line, a
// sign that a terminal obeys is written as Go writes it, and no quote in it ends it.
func Quoted(text string, most int) string {
	const end = "..."
	kept := strings.Join(strings.Fields(strings.ToValidUTF8(text[:min(len(text), most)], "?")), " ")
	cut := len(text) > most
	quoted := strconv.Quote(kept)
	for len(quoted) > most || cut && len(quoted)+len(end) > most {
		cut = true
		kept = strings.ToValidUTF8(kept[:len(kept)*(most-len(end))/(len(quoted)+1)], "")
		quoted = strconv.Quote(kept)
	}
	if cut {
		return strconv.Quote(kept + end)
	}
	return quoted
}
