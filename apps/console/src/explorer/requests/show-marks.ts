/** Controls but the line break, and marks that turn the direction of what is read or show as nothing. */
const HIDDEN = /(?!\n)[\p{Cc}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

/** Text whose every sign can be seen: a mark that reorders a line could make what is signed look like something else. */
export function showMarks(text: string): string {
  return text.replaceAll(HIDDEN, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
