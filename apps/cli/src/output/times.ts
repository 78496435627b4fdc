/**
 * Shortens the times of a text to seconds. Times in quotes stay as they are: they are part of a JSON document, which
 * may be signed.
 */
export function toSeconds(text: string): string {
  return text.replaceAll(/(?<!["\d.T:-])(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{1,9}Z/g, '$1Z')
}
