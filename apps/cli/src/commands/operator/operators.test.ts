import type { Stats } from 'node:fs'
import { chmod, chown, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { writeOperatorsFile } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openNetwork } from '../../testing/real-authority.suite.ts'
import { type CommandRun, TestContext } from '../../testing/run-command.suite.ts'

let setup: TestContext
beforeAll(async () => {
  setup = await TestContext.make()
  await setup.run('init --home na --name NET')
  await setup.run('use na')
  for (const name of ['ops-2', 'ops-3', 'ops-4']) await setup.run(`keygen operator --out ${name}`)
})
afterAll(() => setup.remove())

const run = (line: string): Promise<CommandRun> => setup.run(`operator ${line}`)
const ids = async (): Promise<string[]> => (await run('list --quiet')).stdout.trim().split('\n')

describe('operator list, add and remove', () => {
  it('list the operator that init made', async () => {
    const { code, stdout } = await run('list')
    expect(code).toBe(0)
    expect(stdout).toMatch(/operator-local +privileged +2030-01-02T03:00:00Z/)
    expect(stdout).toContain('1 operator.')
  })

  it('add a key with its tier to a file that only its owner may read', async () => {
    const { code, stdout } = await run('add ops-2 --key ops-2.pub')
    expect(code).toBe(0)
    expect(stdout).toContain('Added operator ops-2 (standard).')
    expect((await run('add ops-3 --key ops-3.pub --tier privileged')).code).toBe(0)
    expect(await ids()).toEqual(['operator-local', 'ops-2', 'ops-3'])
    expect((await stat(setup.path('na', 'operators.json'))).mode & 0o777).toBe(0o600)
  })

  it.each([
    ['add ops-2 --key ops-4.pub', 'ops-2 is an operator already.', 'chancery operator list'],
    ['add ops-9 --key ops-2.pub', 'This key is operator ops-2 already.', 'chancery operator list'],
    ['add ops-9 --key ops-2.key', '--key is neither a .pub file', 'Give the .pub file'],
    ['add ops-9', '--key must be given', 'chancery operator add --help'],
    ['remove ops-9', 'ops-9 is not an operator.', 'chancery operator list'],
    ['remove ops-2', 'needs confirmation', '--yes'],
    ['list --file gone.json', 'gone.json does not exist', 'chancery operator add'],
  ])('refuse %s and say what to do', async (line, problem, hint) => {
    const { code, stderr } = await run(line)
    expect(code).toBeGreaterThan(0)
    expect(stderr).toContain(problem)
    expect(stderr).toContain(hint)
  })

  it('remove a key, and do not add it again by mistake', async () => {
    expect((await run('remove ops-2 --yes')).stdout).toContain('2 operators left.')
    expect(await ids()).toEqual(['operator-local', 'ops-3'])
    expect((await run('add ops-5 --key ops-2.pub')).stderr).toContain('ops-2 was removed on')
    expect((await run('add ops-2 --key ops-2.pub --again')).code).toBe(0)
  })

  it('keep one privileged key unless forced', async () => {
    expect((await run('remove ops-3 --yes')).code).toBe(0)
    expect((await run('remove operator-local --yes')).stderr).toContain('is the last operator with the tier privileged')
    expect((await run('remove operator-local --yes --force')).code).toBe(0)
  })

  it('do not undo a change that another process made during the question', async () => {
    const file = setup.path('shared.json')
    for (const name of ['ops-2', 'ops-3', 'ops-4'])
      await run(`add ${name} --key ${name}.pub --tier privileged --file shared.json`)
    const confirm = async (): Promise<boolean> => {
      expect((await run('remove ops-3 --yes --file shared.json')).code).toBe(0)
      return true
    }
    const late = await setup.run('operator remove ops-2 --file shared.json', { isTTY: true, prompts: { confirm } })
    expect(late.code).toBe(1)
    expect(late.stderr).toContain('was changed by another process')
    expect(await readFile(file, 'utf8')).toMatch(/"removed": \[\s+\{\s+"key_id": "ops-3"/)
  })

  it('keep owner, group and mode of the file, so that the service can still read it', async () => {
    const file = setup.path('mode.json')
    await run('add ops-2 --key ops-2.pub --file mode.json')
    await chmod(file, 0o640)
    const isRoot = process.getuid?.() === 0
    if (isRoot) await chown(file, 12_345, 12_346)
    const owner = ({ uid, gid, mode }: Stats): readonly number[] => [uid, gid, mode & 0o777]
    const before = owner(await stat(file))
    expect((await run('add ops-3 --key ops-3.pub --file mode.json')).code).toBe(0)
    expect(owner(await stat(file))).toEqual(before)
    expect(before[2]).toBe(0o640)
  })

  it('name a damaged file', async () => {
    await writeFile(setup.path('bad.json'), '{"operators":[{}]}')
    const { code, stderr } = await run('list --file bad.json')
    expect(code).toBe(1)
    expect(stderr).toContain('bad.json is no operators file')
  })

  it('move operators out of the settings of an earlier release', async () => {
    const { publicKey } = await testSigner('op-old')
    await setup.run('init --home old --name OLD')
    const [env, file] = [setup.path('old', 'authority.env'), setup.path('old', 'operators.json')]
    const inline = `OPERATOR_PUBLIC_KEYS_JSON={"op-old":"${publicKey}"}\nOPERATOR_KEY_TIERS_JSON={"op-old":"privileged"}`
    const before = (await readFile(env, 'utf8')).replace(`OPERATOR_PUBLIC_KEYS_JSON=${file}`, inline)
    await writeFile(env, before)
    const unused = await run('remove operator-local --yes --force --home old')
    expect(unused.stderr).toContain('the authority does not read')
    await rm(file)
    await writeFile(env, before.replace('{"op-old"', '{op-old'))
    expect((await run('add ops-4 --key ops-4.pub --home old')).stderr).toContain('is not a JSON object')
    await writeFile(env, before)
    const added = await run('add ops-4 --key ops-4.pub --home old')
    expect(added.stdout).toContain('Restart the authority once')
    const after = await readFile(env, 'utf8')
    expect(after).toContain(`OPERATOR_PUBLIC_KEYS_JSON=${file}\n`)
    expect(after).not.toContain('OPERATOR_KEY_TIERS_JSON')
    const { operators } = (await run('list --json --home old')).json()
    expect((operators as JsonObject[]).map(({ key_id, tier }) => [key_id, tier])).toEqual([
      ['op-old', 'privileged'],
      ['ops-4', 'standard'],
    ])
  })
})

it('a running authority accepts an added operator at once, refuses a removed one, and audits both', async () => {
  const { publicKey } = await testSigner('op-privileged')
  const file = setup.path('live.json')
  const first = { key_id: 'op-privileged', public_key: publicKey, tier: 'privileged', added_at: null } as const
  await writeFile(file, writeOperatorsFile({ operators: [first], removed: [] }))
  const network = await openNetwork({ OPERATOR_PUBLIC_KEYS_JSON: file, OPERATOR_KEY_TIERS_JSON: '{}' })
  try {
    const key = (await testSigner('op-standard')).publicKey
    const asNew = (): Promise<CommandRun> => network.asOperator('invite list --tokens --operator-key standard.key')
    expect((await asNew()).code).toBe(1)
    const added = await network.run(['operator', 'add', 'op-standard', '--key', key, '--file', file])
    expect(added.code).toBe(0)
    expect((await asNew()).code).toBe(0)
    const listed = await network.asOperator(`operator list --check --file ${file}`)
    expect(listed.stdout).toMatch(/op-standard +standard +usable/)
    expect((await network.asOperator('operator revoke op-standard --yes')).code).toBe(0)
    expect((await network.asOperator(`operator list --check --file ${file}`)).stdout).toContain('revoked')
    expect((await network.run(`operator remove op-standard --yes --file ${file}`)).code).toBe(0)
    expect((await network.run(['operator', 'add', 'op-standard', '--again', '--key', key, '--file', file])).code).toBe(
      0,
    )
    expect((await asNew()).code).toBe(1)
    const events = await network.na.auditEvents('operator_keys_changed')
    expect(events.length).toBeGreaterThanOrEqual(2)
  } finally {
    await network.close()
  }
})
