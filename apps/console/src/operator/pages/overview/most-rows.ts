/** Rows of a part of the overview. A phone shows half of them, so that the page has at most three screens. */
export const mostRows = (): number => (matchMedia('(max-width: 720px)').matches ? 4 : 8)
