/** Returns the note below a truncated list. */
export function cutText(isCut: boolean, shown: number, total: number | null | undefined): string {
  return isCut ? `\nShows ${shown} of ${total ?? 'more than 10000'}. Add --all or --limit.` : ''
}
