import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TestLeaf {
  readonly cert: string
  readonly key: string
  /** SHA-256 of the certificate in lowercase hex. */
  readonly sha256: string
}

/** A private certificate authority for tests, made with the system's openssl; not ours, so it checks ours. */
export class TestCa {
  readonly cert: string
  readonly #folder: string
  #count = 0

  constructor(name = 'test authority') {
    this.#folder = mkdtempSync(join(tmpdir(), 'chancery-ca-'))
    this.#openssl(
      ['req', '-x509', ...NEW_KEY, '-keyout', this.#at('ca.key'), '-out', this.#at('ca.pem'), '-days', '30'],
      ['-subj', `/CN=${name}`, '-addext', 'basicConstraints=critical,CA:TRUE'],
      ['-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
    )
    this.cert = readFileSync(this.#at('ca.pem'), 'utf8')
  }

  /** A certificate for servers on this machine and for clients. */
  issue(name: string): TestLeaf {
    this.#count += 1
    const base = this.#at(`leaf-${this.#count}`)
    writeFileSync(
      `${base}.ext`,
      'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=CA:FALSE\n',
    )
    this.#openssl(['req', '-new', ...NEW_KEY, '-keyout', `${base}.key`, '-out', `${base}.csr`, '-subj', `/CN=${name}`])
    this.#openssl(
      ['x509', '-req', '-in', `${base}.csr`, '-CA', this.#at('ca.pem'), '-CAkey', this.#at('ca.key')],
      ['-CAcreateserial', '-out', `${base}.pem`, '-extfile', `${base}.ext`, '-days', '20'],
    )
    const cert = readFileSync(`${base}.pem`, 'utf8')
    const sha256 = new X509Certificate(cert).fingerprint256.replaceAll(':', '').toLowerCase()
    return { cert, key: readFileSync(`${base}.key`, 'utf8'), sha256 }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #at(name: string): string {
    return join(this.#folder, name)
  }

  #openssl(...words: readonly (readonly string[])[]): void {
    execFileSync('openssl', words.flat(), { stdio: 'pipe' })
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
