/**
 * Shortens the times of a text to seconds. Times in quotes stay as they are: they are part of a JSON document, which
 * may be signed. Between columns of a table, spaces replace the removed characters.
 */
export function toSeconds(text: string): string {
  return text.replaceAll(
    /(?<!["\d.T:-])(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})Z( {2})?/g,
    (_all, time: string, fraction: string, gap: string | undefined) =>
      gap === undefined ? `${time}Z` : `${time}Z${' '.repeat(fraction.length)}${gap}`,
  )
}
