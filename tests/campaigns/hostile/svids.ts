import { execFile } from 'node:child_process'
import { type KeyObject, X509Certificate, createPrivateKey } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { JsonObject } from '@chancery/protocol'

/** A SPIFFE trust domain with an RSA root, which signs one workload again and again. */
export interface SvidIssuer {
  readonly rule: JsonObject & { readonly rule_id: string }
  readonly key: KeyObject
  /** A certificate chain, base64, signed as these arguments of openssl say. */
  issue(how: readonly string[]): Promise<readonly string[]>
  remove(): Promise<void>
}

const DOMAIN = 'hostile.example'
const ID = `spiffe://${DOMAIN}/api`
const EXTENSIONS = `basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nsubjectAltName=URI:${ID}\n`

export async function openSvidIssuer(): Promise<SvidIssuer> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-hostile-svid-'))
  const openssl = (...words: readonly string[]) => promisify(execFile)('openssl', words, { cwd: folder })
  const der = async (name: string): Promise<string> =>
    new X509Certificate(await readFile(join(folder, name))).raw.toString('base64')
  await writeFile(join(folder, 'leaf.ext'), EXTENSIONS)
  const root = ['-keyout', 'ca.key', '-out', 'ca.pem', '-days', '30', '-subj', '/O=SPIFFE/CN=root']
  const usage = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign']
  await openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...root, ...usage)
  const leaf = ['-keyout', 'leaf.key', '-out', 'leaf.csr', '-subj', '/O=SPIFFE/CN=leaf']
  await openssl('req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', ...leaf)
  let issued = 0
  return {
    rule: {
      rule_id: 'workloads',
      kind: 'spiffe_x509',
      trust_domain: DOMAIN,
      required_claims: { sub: [ID] },
      keys: { keys: [{ use: 'x509-svid', kty: 'RSA', x5c: [await der('ca.pem')] }] },
    },
    key: createPrivateKey(await readFile(join(folder, 'leaf.key'))),
    async issue(how) {
      issued += 1
      const out = `leaf-${issued}.pem`
      // Serials are random, so that cases can be signed at the same time.
      const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-extfile', 'leaf.ext', '-days', '1']
      await openssl('x509', '-req', '-in', 'leaf.csr', ...signer, '-out', out, ...how)
      const chain = [await der(out)]
      await rm(join(folder, out))
      return chain
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
