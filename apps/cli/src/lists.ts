/** Said under a list that was cut off. */
export function cutText(isCut: boolean, shown: number, total: number | null | undefined): string {
  return isCut ? `\nShown are ${shown} of ${total ?? 'more than 10000'}: add --all or --limit.` : ''
}
