/** Returns the note below a truncated list. */
export function cutText(isCut: boolean, shown: number, total: number | null | undefined): string {
  if (!isCut) return ''
  // Without a total nobody counted them: with some filters, and for more than 10000 rows.
  const of = total === null || total === undefined ? `${shown}; there are more` : `${shown} of ${total}`
  return `\nShows ${of}. Add --all or --limit.`
}
