import { execFileSync } from 'node:child_process'
import { type KeyObject, X509Certificate, createPrivateKey, sign } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@chancery/protocol'

export interface TestSvid {
  readonly chain: readonly string[]
  readonly key: KeyObject
}

interface LeafOptions {
  /** Names of the subject, as openssl writes them. */
  readonly names?: string
  readonly extensions?: string
  readonly days?: string
  readonly digest?: string
  readonly by?: 'root' | 'intermediate'
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
const LEAF = 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n'
const CA = 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n'

/** A SPIFFE trust domain made with the system's openssl: a root, and what is below it. */
export class TestTrustDomain {
  readonly name: string
  readonly #folder: string
  #count = 0

  constructor(name: string, intermediate = CA) {
    this.name = name
    this.#folder = mkdtempSync(join(tmpdir(), 'chancery-svid-'))
    writeFileSync(this.#at('root.ext'), CA)
    this.#openssl(
      'req',
      '-x509',
      ...EC,
      '-keyout',
      this.#at('root.key'),
      '-out',
      this.#at('root.pem'),
      '-days',
      '30',
      '-subj',
      `/O=SPIFFE/CN=${name}`,
      '-addext',
      'basicConstraints=critical,CA:TRUE,pathlen:1',
      '-addext',
      'keyUsage=critical,keyCertSign,cRLSign',
    )
    this.#issue('intermediate', 'root', intermediate, '10', 'sha256')
  }

  /** The bundle, with the root as X.509 authority and other keys. */
  bundle(...others: readonly object[]): JsonObject {
    return {
      spiffe_sequence: 1,
      spiffe_refresh_hint: 60,
      keys: [{ use: 'x509-svid', kty: 'EC', x5c: [this.#der('root')] }, ...others],
    } as JsonObject
  }

  issue(
    path: string,
    { names, extensions = LEAF, days = '1', digest = 'sha256', by = 'root' }: LeafOptions = {},
  ): TestSvid {
    this.#count += 1
    const leaf = `leaf-${this.#count}`
    const uri = names ?? `URI:spiffe://${this.name}${path}`
    this.#issue(leaf, by, `${extensions}${uri === '' ? '' : `subjectAltName=${uri}\n`}`, days, digest)
    const chain = by === 'root' ? [this.#der(leaf)] : [this.#der(leaf), this.#der('intermediate')]
    return { chain, key: createPrivateKey(readFileSync(this.#at(`${leaf}.key`))) }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #issue(name: string, by: string, extensions: string, days: string, digest: string): void {
    const at = (end: string): string => this.#at(`${name}.${end}`)
    writeFileSync(at('ext'), extensions)
    this.#openssl('req', '-new', ...EC, '-keyout', at('key'), '-out', at('csr'), '-subj', `/O=SPIFFE/CN=${name}`)
    this.#openssl(
      'x509',
      '-req',
      `-${digest}`,
      '-in',
      at('csr'),
      '-CA',
      this.#at(`${by}.pem`),
      '-CAkey',
      this.#at(`${by}.key`),
      '-CAcreateserial',
      '-out',
      at('pem'),
      '-extfile',
      at('ext'),
      '-days',
      days,
    )
  }

  #der(name: string): string {
    return new X509Certificate(readFileSync(this.#at(`${name}.pem`))).raw.toString('base64')
  }

  #at(name: string): string {
    return join(this.#folder, name)
  }

  #openssl(...words: readonly string[]): void {
    execFileSync('openssl', words, { stdio: 'pipe' })
  }
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A proof by the key of an SVID; the test chooses what is in it. */
export function proveSvid(key: KeyObject, claims: object, header: object = {}): string {
  const input = `${encode({ alg: 'ES256', typ: 'chancery-svid-proof+jwt', ...header })}.${encode(claims)}`
  return `${input}.${sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}
