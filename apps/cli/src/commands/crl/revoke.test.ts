import { readFile, writeFile } from 'node:fs/promises'
import { type JsonObject, readPublicKeyFile } from '@chancery/protocol'
import { detailsOf, entryOf, fetchCrl, seedCertificates } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refused, startFakeAuthority } from '../../testing/fake-authority.suite.ts'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'
import { TestContext } from '../../testing/run-command.suite.ts'
import { rowsOf } from '../../../../authority/src/testing/rows.suite.ts'

let network: RealNetwork
beforeAll(async () => {
  network = await openNetwork()
})
afterAll(() => network.close())

let counter = 0

async function joined(): Promise<{ home: string; certId: string }> {
  counter += 1
  const { json } = await network.join(`n${counter}`, '--json')
  return { home: `n${counter}`, certId: String((json()['certificate'] as JsonObject)['cert_id']) }
}

/** The lists that revocations made: a job refreshes the list, too. */
async function listsOfCallers(): Promise<readonly JsonObject[]> {
  const events = await network.na.auditEvents('crl_published')
  return events.filter((event) => detailsOf(event)['cause'] !== 'refresh')
}

async function reasonOf(certId: string): Promise<string | undefined> {
  const crl = await fetchCrl(network.na.url, network.na.genesis.network_authority.public_key)
  return entryOf(crl, certId)?.reason
}

describe('revoke', () => {
  it('puts a certificate into the list', async () => {
    const { certId } = await joined()
    const { code, stdout, stderr } = await network.asOperator(
      `node revoke ${certId} --reason cessation_of_operation --yes`,
    )
    expect(code).toBe(0)
    expect(stderr).toBe(`Would stop being trusted: 1 certificate: ${certId}\nWould leave the registry: 0 agents\n`)
    expect(stdout).toMatch(
      /^Revoked 1 certificate\.\n {2}reason {2}cessation_of_operation\n {2}list {4}number \d+, with \d+ entr(y|ies)\n$/,
    )
    expect(await reasonOf(certId)).toBe('cessation_of_operation')
  })

  it('takes several, and a certificate file in place of an id', async () => {
    const [a, b] = [await joined(), await joined()]
    const { json } = await network.asOperator(`node revoke ${a.certId} ${b.home}/certificate.json --yes --json`)
    expect(json()).toMatchObject({ revoked: 2, reason: 'unspecified' })
    expect([await reasonOf(a.certId), await reasonOf(b.certId)]).toEqual(['unspecified', 'unspecified'])
  })

  it('revokes a certificate that a restored database lacks, by its file or by id and key', async () => {
    const [a, b] = [await joined(), await joined()]
    const db = rowsOf(network.na.core.database)
    const keys = await db
      .selectFrom('issued_certs')
      .select(['cert_id', 'node_public_key'])
      .where('cert_id', 'in', [a.certId, b.certId])
      .execute()
    await db.deleteFrom('node_liveness').where('cert_id', 'in', [a.certId, b.certId]).execute()
    await db.deleteFrom('issued_certs').where('cert_id', 'in', [a.certId, b.certId]).execute()
    const file = `${a.home}/certificate.json`
    expect((await network.asOperator(`node revoke ${file} --yes --json`)).code).toBe(1)
    expect((await network.asOperator(`node revoke ${file} --forgotten --yes --json`)).json()).toMatchObject({
      revoked: 1,
    })
    const key = keys.find(({ cert_id }) => cert_id === b.certId)?.node_public_key ?? ''
    expect((await network.asOperator(`node revoke ${b.certId} --node ${key} --yes`)).code).toBe(0)
    expect([await reasonOf(a.certId), await reasonOf(b.certId)]).toEqual(['unspecified', 'unspecified'])
    for (const wrong of [`${b.certId} --forgotten`, `--forgotten`, `${file} --forgotten --node-key ${key}`])
      expect((await network.asOperator(`node revoke ${wrong} --yes`)).code).toBe(2)
    expect((await network.asOperator(`node revoke ${a.certId} ${b.certId} --node ${key} --yes`)).code).toBe(2)
  })

  it('takes a file of ids, each once', async () => {
    const [a, b] = [await joined(), await joined()]
    await writeFile(network.setup.path('ids'), `# after the incident\n${a.certId}\r\n\n  ${b.certId}\n${a.certId}\n`)
    const { json } = await network.asOperator(`node revoke --file ids --reason key_compromise --yes --json ${b.certId}`)
    expect(json()).toMatchObject({ revoked: 2 })
  })

  it('sends a thousand per call and says how far it is', async () => {
    const certificates = await seedCertificates(network.na.parts, {
      count: 2100,
      node_public_key: readPublicKeyFile(await otherKey())?.value ?? '',
    })
    await writeFile(network.setup.path('many'), certificates.map(({ cert_id }) => cert_id).join('\n'))
    const before = (await listsOfCallers()).length
    const { code, stderr, json } = await network.asOperator('node revoke --file many --only-this --yes --json')
    expect(code).toBe(0)
    expect(stderr.trimEnd().split('\n')).toEqual([
      'note: 1000 of 2100 certificates are revoked',
      'note: 2000 of 2100 certificates are revoked',
      'note: 2100 of 2100 certificates are revoked',
    ])
    expect(json()['revoked']).toBe(2100)
    expect(await listsOfCallers()).toHaveLength(before + 3)
  })

  async function otherKey(): Promise<string> {
    await network.run('keygen node --out unknown --force')
    return readFile(network.setup.path('unknown.pub'), 'utf8')
  }

  it('ends and names the other certificates of the key, and with --only-this leaves and warns', async () => {
    const [named, other] = await seedCertificates(network.na.parts, {
      count: 2,
      node_public_key: readPublicKeyFile(await otherKey())?.value ?? '',
    })
    const [first, second] = [named?.cert_id ?? '', other?.cert_id ?? '']
    const { stdout } = await network.asOperator(`node revoke ${first} --dry-run --only-this`)
    expect(stdout).toContain(`Warning: still valid, of the same node keys: 1 certificate: ${second}`)
    const left = await network.asOperator(`node revoke ${first} --only-this --yes`)
    expect(left.stdout).toContain(`still valid, of the same node keys: 1 certificate: ${second}`)
    expect(await reasonOf(second)).toBeUndefined()
    const all = await network.asOperator(`node revoke ${first} --reason superseded --yes`)
    expect(all.stdout).toContain(`1 certificate: ${second} of the same node keys`)
    expect([await reasonOf(first), await reasonOf(second)]).toEqual(['unspecified', 'superseded'])
  })

  it.each(['--only-this --all-of-key', '--only-this --reason key_compromise'])('refuses %s', async (options) => {
    const { code } = await network.asOperator(`node revoke ${(await joined()).certId} ${options} --yes`)
    expect(code).toBe(2)
  })

  it('may be repeated', async () => {
    const { certId } = await joined()
    const { forecast, ...first } = (await network.asOperator(`node revoke ${certId} --yes --json`)).json()
    expect(forecast).toMatchObject({ would_change: true })
    const again = (await network.asOperator(`node revoke ${certId} --yes --json`)).json()
    expect(again).toEqual({ ...first, forecast: expect.objectContaining({ would_change: false }) as unknown })
  })

  it('only shows what would follow with --dry-run', async () => {
    const { certId } = await joined()
    const { code, stdout } = await network.asOperator(`node revoke ${certId} --dry-run`)
    expect(code).toBe(0)
    expect(stdout).toContain(`1 certificate: ${certId}`)
    expect(stdout).toContain('Nothing was changed.')
    expect(await reasonOf(certId)).toBeUndefined()
  })

  it('changes nothing when one id is unknown, and names it', async () => {
    const { certId } = await joined()
    const { code, stderr } = await network.asOperator(`node revoke ${certId} unknown-id --yes`)
    expect(code).toBe(1)
    expect(stderr).toContain('Nothing was changed. Remove unknown-id')
    expect(await reasonOf(certId)).toBeUndefined()
  })

  it('asks first, and explains the effect of key_compromise', async () => {
    const [{ certId }, other] = [await joined(), await joined()]
    const questions: string[] = []
    const confirm = (question: string): Promise<boolean> => {
      questions.push(question)
      return Promise.resolve(false)
    }
    const options = { isTTY: true, prompts: { confirm } }
    expect((await network.asOperator(`node revoke ${certId} --reason key_compromise`, options)).code).toBe(1)
    await network.asOperator(`node revoke ${certId} ${other.certId}`, options)
    expect(questions).toEqual([
      `Revoke certificate ${certId} at ${network.na.url} (key_compromise)? Every other certificate of the same node keys goes with it, and the keys are barred. This cannot be undone.`,
      `Revoke 2 certificates at ${network.na.url} (unspecified)? Every other certificate of the same node keys goes with it. This cannot be undone.`,
    ])
    expect(await reasonOf(certId)).toBeUndefined()
  })

  it.each([
    ['revoke', 'No certificate is named'],
    ['node revoke a', 'No certificate with this id'],
    ['node revoke a --reason whim --yes', 'is invalid'],
    ['node revoke --file empty --yes', 'No certificate is named'],
    ['node revoke gone/certificate.json --yes', 'gone/certificate.json cannot be read'],
  ])('%s is called wrongly', async (line, problem) => {
    await writeFile(network.setup.path('empty'), '# nothing\n')
    const { code, stderr } = await network.asOperator(line)
    expect(code).toBeGreaterThan(0)
    expect(stderr).toContain(problem)
  })

  it('needs the higher tier', async () => {
    const { certId } = await joined()
    const line = `node revoke ${certId} --yes --operator-key standard.key`
    const { code, stderr } = await network.asOperator(line)
    expect(code).toBe(1)
    expect(stderr).toContain('(insufficient_operator_tier)')
    expect(stderr).toContain('tier privileged')
  })
})

const PREVIEWED = {
  dry_run: true,
  would_change: true,
  certificates_revoked: { count: 1000, sample: ['c-0'] },
  agents_dropped: { count: 0, sample: [] },
}

it('says how far it came when a later call fails', async () => {
  const setup = await TestContext.make()
  await setup.run('init --home na --name EXAMPLE-NET')
  const key = async (name: string): Promise<string> =>
    readPublicKeyFile(await readFile(setup.path('na', 'keys', name), 'utf8'))?.value ?? ''
  const server = await startFakeAuthority(
    {
      audience: await key('network-authority.pub'),
      operator: await key('operator.pub'),
      genesis: setup.path('na', 'genesis.json'),
    },
    ({ body }, count) => {
      if (body['dry_run'] === true) return { json: PREVIEWED }
      const done = { crl_sequence: 1, revoked_count: 1000, other_certificates: { count: 0, sample: [] } }
      return count === 3 ? { json: done } : refused('certificate_not_found')
    },
  )
  await writeFile(setup.path('ids'), Array.from({ length: 1500 }, (_each, index) => `c-${index}`).join('\n'))
  const { code, stderr } = await setup.run(`node revoke --file ids --yes --home na --url ${server.url}`)
  expect(code).toBe(1)
  expect(stderr).toContain('Would stop being trusted: at most 2000 certificates: c-0, and 1999 more')
  expect(stderr).toContain('1000 of 1500 certificates are revoked; then: No certificate with this id')
  await server.close()
  await setup.remove()
})
