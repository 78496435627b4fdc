import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Certificate, readCertificate } from './certificate.ts'
import { leadsTo } from './verify-path.ts'

// Holds: a signature of RSASSA-PSS counts only with SHA-2 in its parameters, for the text and for the mask.

const folder = mkdtempSync(join(tmpdir(), 'chancery-path-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const openssl = (...words: readonly string[]): void =>
  void execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' })
const load = (name: string): Certificate => {
  const found = readCertificate(new X509Certificate(readFileSync(join(folder, name))).raw)
  if (found === undefined) throw new Error(`${name} cannot be read`)
  return found
}
const pss = (hash: string, mask: string): readonly string[] => [
  `-${hash}`,
  '-sigopt',
  'rsa_padding_mode:pss',
  '-sigopt',
  `rsa_mgf1_md:${mask}`,
  '-sigopt',
  'rsa_pss_saltlen:20',
]

beforeAll(() => {
  writeFileSync(join(folder, 'ca.cnf'), '[req]\ndistinguished_name=dn\n[dn]\n[ca]\nbasicConstraints=critical,CA:TRUE\n')
  writeFileSync(join(folder, 'leaf.ext'), 'basicConstraints=critical,CA:FALSE\n')
  const root = ['-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=ca', '-config', 'ca.cnf', '-extensions', 'ca']
  openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...root)
  openssl(
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    'leaf.key',
    '-out',
    'leaf.csr',
    '-subj',
    '/CN=leaf',
    '-config',
    'ca.cnf',
  )
})

describe('a path with a signature of', () => {
  it.each([
    ['RSA with SHA-256', ['-sha256'], true],
    ['RSA with SHA-1', ['-sha1'], false],
    ['RSASSA-PSS with SHA-256', pss('sha256', 'sha256'), true],
    ['RSASSA-PSS with SHA-512', pss('sha512', 'sha512'), true],
    ['RSASSA-PSS with SHA-1, which parameters leave out', pss('sha1', 'sha1'), false],
    ['RSASSA-PSS with SHA-1 and a mask with SHA-256', pss('sha1', 'sha256'), false],
    ['RSASSA-PSS with SHA-256 and a mask with SHA-1', pss('sha256', 'sha1'), false],
    ['RSASSA-PSS with SHA-224', pss('sha224', 'sha224'), false],
  ])('%s', (_name, how, isTrusted) => {
    const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial']
    openssl(
      'x509',
      '-req',
      '-in',
      'leaf.csr',
      ...signer,
      '-days',
      '1',
      '-extfile',
      'leaf.ext',
      '-out',
      'leaf.pem',
      ...how,
    )
    // Certificates have whole seconds, and one was made just now.
    expect(leadsTo([load('ca.pem')], [load('leaf.pem')], systemClock.now() + 1_000_000n)).toBe(isTrusted)
  })
})
