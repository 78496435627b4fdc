/** As `fetch` puts it into the request line: the proof must cover the very same text. */
export function targetOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : new URL(url, 'http://localhost')
  return parsed.pathname + parsed.search
}
