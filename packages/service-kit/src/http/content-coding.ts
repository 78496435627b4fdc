/**
 * The quality that an Accept-Encoding value gives to a coding, by one of its names; 0 when it is not accepted (RFC 9110
 * section 12.5.3). Without the header nothing is accepted. `*` counts for `any` only.
 */
export function qualityOf(accept: string | undefined, names: readonly string[], any?: 'any'): number {
  let otherwise = 0
  for (const entry of (accept ?? '').split(',')) {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase())
    const given = parameters.find((each) => /^q=[01](?:\.[0-9]{0,3})?$/.test(each))
    const quality = given === undefined ? 1 : Number(given.slice(2))
    if (names.includes(name)) return quality
    if (name === '*' && any !== undefined) otherwise = quality
  }
  return otherwise
}

export function gzipQuality(accept: string | undefined): number {
  return qualityOf(accept, ['gzip', 'x-gzip'], 'any')
}
