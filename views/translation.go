package views

import (
	"context"

	"gpupool/views/lang"
)

// T says an English sentence in the language of the context: the templates' short name for lang.T.
func T(ctx context.Context, sentence string, args ...any) string {
	return lang.T(ctx, sentence, args...)
}
