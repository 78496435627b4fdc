/** Returns the begin of a long id, for lists. */
export function shortId(id: string, length = 8): string {
  return id.length <= length + 1 ? id : `${id.slice(0, length)}…`
}
