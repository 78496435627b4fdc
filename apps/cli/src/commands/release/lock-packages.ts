/**
 * Packages that a lock file, a CycloneDX list and an SPDX list name, in one form: `name@version sha512`. The lists are
 * read without the code that writes them, so that a mistake there is found.
 */

/** Packages of the lock file that run with the product. Development packages are not part of a release. */
export function packagesOfLock(text: string): readonly string[] {
  const found = new Set<string>()
  for (const [path, entry] of Object.entries(objectAt(parse(text), 'packages'))) {
    const [, name] = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? []
    if (name === undefined || at(entry, 'link') === true) continue
    // Tests run on another Node.js than that of the single file and the image.
    if (at(entry, 'dev') === true || path.startsWith('tests/')) continue
    const digest = Buffer.from(textAt(entry, 'integrity').replace(/^sha512-/, ''), 'base64').toString('hex')
    found.add(lineOf(name, textAt(entry, 'version'), digest))
  }
  return [...found].sort()
}

export function packagesOfCycloneDx(text: string): readonly string[] {
  return listAt(parse(text), 'components')
    .map((each) => {
      const hash = listAt(each, 'hashes').find((one) => at(one, 'alg') === 'SHA-512')
      return lineOf(textAt(each, 'name'), textAt(each, 'version'), textAt(hash, 'content'))
    })
    .sort()
}

/** All packages of the list except the one that it describes. */
export function packagesOfSpdx(text: string): readonly string[] {
  const document = parse(text)
  const described = listAt(document, 'documentDescribes')
  return listAt(document, 'packages')
    .filter((each) => !described.includes(at(each, 'SPDXID')))
    .map((each) => {
      const sum = listAt(each, 'checksums').find((one) => at(one, 'algorithm') === 'SHA512')
      return lineOf(textAt(each, 'name'), textAt(each, 'versionInfo'), textAt(sum, 'checksumValue'))
    })
    .sort()
}

/** The first line that one list has and the other lacks, by its name and version. */
export function firstDifference(expected: readonly string[], found: readonly string[]): string | undefined {
  const missing = expected.find((line) => !found.includes(line))
  const extra = found.find((line) => !expected.includes(line))
  const isDoubled = missing === undefined && extra === undefined && expected.length !== found.length
  return isDoubled ? 'a package that is listed twice' : (missing ?? extra)?.split(' ')[0]
}

function lineOf(name: string, version: string, digest: string): string {
  return `${name}@${version} ${digest}`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function at(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
}

function objectAt(value: unknown, name: string): object {
  const found = at(value, name)
  return typeof found === 'object' && found !== null ? found : {}
}

function listAt(value: unknown, name: string): readonly unknown[] {
  const found = at(value, name)
  return Array.isArray(found) ? (found as readonly unknown[]) : []
}

function textAt(value: unknown, name: string): string {
  const found = at(value, name)
  return typeof found === 'string' ? found : ''
}
