import { X509Certificate } from 'node:crypto'

/** One element of a DER text: its tag, and its content. */
interface Element {
  readonly tag: number
  readonly content: Uint8Array
}

/** The text is not DER, or has a form that certificates do not need. */
class DerError extends Error {
  override readonly name = 'DerError'
}

const TAGS = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  sequence: 0x30,
  /** In the parameters of RSASSA-PSS: the hash, and the mask. */
  explicit0: 0xa0,
  explicit1: 0xa1,
  /** In a certificate: its extensions. */
  explicit3: 0xa3,
  /** In the names of a subject: a URI. */
  uriName: 0x86,
} as const

/** The elements of a text, one after the other. Lengths must be in their shortest form. */
function readElements(bytes: Uint8Array): readonly Element[] {
  const found: Element[] = []
  for (let at = 0; at < bytes.length;) {
    const { element, next } = readElement(bytes, at)
    found.push(element)
    at = next
  }
  return found
}

/** The only element of a text, with this tag. */
function readOnly(bytes: Uint8Array, tag: number): Uint8Array {
  const [only, ...others] = readElements(bytes)
  if (only?.tag !== tag || others.length > 0) throw new DerError('another element was expected')
  return only.content
}

function readElement(bytes: Uint8Array, at: number): { readonly element: Element; readonly next: number } {
  const [tag, first] = [bytes[at], bytes[at + 1]]
  // Tags of several bytes do not occur in certificates.
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f) throw new DerError('a malformed element')
  const { length, start } = readLength(bytes, at + 1, first)
  const next = start + length
  if (next > bytes.length) throw new DerError('an element is cut off')
  return { element: { tag, content: bytes.subarray(start, next) }, next }
}

function readLength(bytes: Uint8Array, at: number, first: number): { readonly length: number; readonly start: number } {
  if (first < 0x80) return { length: first, start: at + 1 }
  const count = first & 0x7f
  if (count === 0 || count > 3) throw new DerError('a malformed length')
  let length = 0
  for (let i = 1; i <= count; i += 1) length = length * 256 + (bytes[at + i] ?? 0)
  if (length < 0x80 || length < 256 ** (count - 1)) throw new DerError('a length that is not the shortest')
  return { length, start: at + 1 + count }
}

/** An object id with its dots. */
function readObjectId(bytes: Uint8Array): string {
  const parts: number[] = []
  let value = 0
  for (const byte of bytes) {
    value = value * 128 + (byte & 0x7f)
    if (value > Number.MAX_SAFE_INTEGER) throw new DerError('an object id is too long')
    if (byte >= 0x80) continue
    parts.push(value)
    value = 0
  }
  const [first = 0, ...rest] = parts
  const top = Math.min(Math.floor(first / 40), 2)
  return [top, first - top * 40, ...rest].join('.')
}

/** What path validation needs to know of a certificate (RFC 5280), besides what the platform checks. */
export interface Certificate {
  readonly x509: X509Certificate
  readonly isAuthority: boolean
  readonly maxPathLength: number
  /** Undefined when the certificate does not limit its key. */
  readonly keyUsage: { readonly isCritical: boolean; readonly bits: number } | undefined
  readonly uriNames: readonly string[]
  /** Extensions that limit the certificate and are not checked here: with one of them it is refused. */
  readonly unsupported: readonly string[]
  readonly signatureAlgorithm: string
  /** Of RSASSA-PSS: the hash of the text and that of the mask. Its object id does not name them. */
  readonly pssHashes: readonly string[]
}

export const KEY_USAGE = { digitalSignature: 0x80, keyCertSign: 0x04, crlSign: 0x02 } as const

const OID = {
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  extendedKeyUsage: '2.5.29.37',
} as const

/** They limit what a signer may name. RFC 5280 has them critical; a signer that left that out meant them, too. */
const NAME_CONSTRAINTS = '2.5.29.30'

interface Extension {
  readonly isCritical: boolean
  readonly value: Uint8Array
}

/** Reads a certificate from its DER form; undefined when it is malformed. */
export function readCertificate(der: Uint8Array): Certificate | undefined {
  try {
    const x509 = new X509Certificate(der)
    // The platform ignores bytes behind the certificate.
    if (!x509.raw.equals(der)) return undefined
    // Read once here: it throws for a key that the platform does not support.
    if (x509.publicKey.type !== 'public') return undefined
    return toCertificate(x509, der)
  } catch {
    // Malformed for the platform, or for this reader. Both refuse it.
    return undefined
  }
}

function toCertificate(x509: X509Certificate, der: Uint8Array): Certificate {
  const [body, algorithm] = readElements(readOnly(der, TAGS.sequence))
  if (body?.tag !== TAGS.sequence || algorithm?.tag !== TAGS.sequence) throw new DerError('not a certificate')
  const extensions = readExtensions(body.content)
  const constraints = readConstraints(extensions.get(OID.basicConstraints))
  const usage = extensions.get(OID.keyUsage)
  const known: readonly string[] = Object.values(OID)
  return {
    x509,
    ...constraints,
    keyUsage: usage === undefined ? undefined : { isCritical: usage.isCritical, bits: readBits(usage.value) },
    uriNames: readUriNames(extensions.get(OID.subjectAltName)),
    unsupported: [...extensions]
      .filter(([id, { isCritical }]) => id === NAME_CONSTRAINTS || (isCritical && !known.includes(id)))
      .map(([id]) => id),
    ...readAlgorithm(algorithm.content),
  }
}

export const RSASSA_PSS = '1.2.840.113549.1.1.10'
const MGF1 = '1.2.840.113549.1.1.8'
/** What RSASSA-PSS means where the hash is left out (RFC 4055, 3.1). */
const SHA1 = '1.3.14.3.2.26'

function readAlgorithm(content: Uint8Array): Pick<Certificate, 'signatureAlgorithm' | 'pssHashes'> {
  const signatureAlgorithm = readObjectId(firstOf(content, TAGS.objectId))
  const [, parameters] = readElements(content)
  const isPss = signatureAlgorithm === RSASSA_PSS
  return { signatureAlgorithm, pssHashes: isPss ? readPssHashes(parameters) : [] }
}

function readPssHashes(parameters: Element | undefined): readonly string[] {
  if (parameters?.tag !== TAGS.sequence) throw new DerError('RSASSA-PSS without parameters')
  const members = readElements(parameters.content)
  const [hash, mask] = [TAGS.explicit0, TAGS.explicit1].map((tag) => members.find((each) => each.tag === tag))
  return [
    hash === undefined ? SHA1 : readIdentifier(hash.content).id,
    mask === undefined ? SHA1 : readMask(mask.content),
  ]
}

function readMask(content: Uint8Array): string {
  const { id, rest } = readIdentifier(content)
  const [hash] = rest
  if (id !== MGF1 || hash?.tag !== TAGS.sequence) throw new DerError('a mask other than MGF1')
  return readObjectId(firstOf(hash.content, TAGS.objectId))
}

/** The object id of an algorithm, and its parameters. */
function readIdentifier(content: Uint8Array): { readonly id: string; readonly rest: readonly Element[] } {
  const algorithm = readOnly(content, TAGS.sequence)
  return { id: readObjectId(firstOf(algorithm, TAGS.objectId)), rest: readElements(algorithm).slice(1) }
}

function readExtensions(body: Uint8Array): ReadonlyMap<string, Extension> {
  const found = new Map<string, Extension>()
  const wrapper = readElements(body).find(({ tag }) => tag === TAGS.explicit3)
  if (wrapper === undefined) return found
  for (const { tag, content } of readElements(readOnly(wrapper.content, TAGS.sequence))) {
    const parts = readElements(content)
    const [id, flag, value] = parts.length === 3 ? parts : [parts[0], undefined, parts[1]]
    if (tag !== TAGS.sequence || id?.tag !== TAGS.objectId || value?.tag !== TAGS.octetString)
      throw new DerError('a malformed extension')
    if (flag !== undefined && flag.tag !== TAGS.boolean) throw new DerError('a malformed extension')
    const name = readObjectId(id.content)
    if (found.has(name)) throw new DerError('an extension is repeated')
    found.set(name, { isCritical: flag !== undefined && flag.content[0] !== 0, value: value.content })
  }
  return found
}

function readConstraints(extension: Extension | undefined): { isAuthority: boolean; maxPathLength: number } {
  if (extension === undefined) return { isAuthority: false, maxPathLength: 0 }
  const [flag, length] = readElements(readOnly(extension.value, TAGS.sequence))
  const isAuthority = flag?.tag === TAGS.boolean && flag.content[0] !== 0
  if (length === undefined) return { isAuthority, maxPathLength: isAuthority ? Number.POSITIVE_INFINITY : 0 }
  if (length.tag !== TAGS.integer || length.content.length !== 1) throw new DerError('a malformed path length')
  return { isAuthority, maxPathLength: length.content[0] ?? 0 }
}

/** The first eight flags; the ninth is not needed. */
function readBits(value: Uint8Array): number {
  const bits = readOnly(value, TAGS.bitString)
  return bits[1] ?? 0
}

function readUriNames(extension: Extension | undefined): readonly string[] {
  if (extension === undefined) return []
  return readElements(readOnly(extension.value, TAGS.sequence))
    .filter(({ tag }) => tag === TAGS.uriName)
    .map(({ content }) => Buffer.from(content).toString('latin1'))
}

function firstOf(bytes: Uint8Array, tag: number): Uint8Array {
  const [first] = readElements(bytes)
  if (first?.tag !== tag) throw new DerError('another element was expected')
  return first.content
}
