import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { testSigner } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import { EvidenceSender } from '../governed/evidence-sender.ts'
import type { Intent, OutboxContent } from '../governed/outbox.ts'
import { FileOutbox } from './file-outbox.ts'

let folder: string
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'chancery-outbox-')), 'outbox')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const content = (id: string): OutboxContent => ({
  state: 'pending',
  record: { evidence_id: id } as never,
  attempts: 0,
  next_attempt_at: null,
  code: null,
})

it('keeps entries in order over a restart, readable by the owner only', async () => {
  const first = await FileOutbox.open(folder)
  const entries = [await first.add(content('a')), await first.add(content('b')), await first.add(content('c'))]
  const [a, b, c] = entries
  if (a === undefined || b === undefined || c === undefined) throw new Error('three entries')
  await first.update({ ...b, ...content('b2') })
  await first.remove(a.id)
  await first.close()
  const second = await FileOutbox.open(folder)
  expect(await second.list()).toEqual([{ ...content('b2'), id: '000000000002' }, c])
  expect((await second.add(content('d'))).id).toBe('000000000004')
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
  for (const name of await readdir(folder)) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
  await second.close()
})

it('renames a file that it cannot read, reports it, and never uses its number again', async () => {
  const first = await FileOutbox.open(folder)
  await first.add(content('a'))
  await first.close()
  await writeFile(join(folder, '000000000002.json'), '{"format":"gm.evidence.outbox.v1","state":"pend')
  await writeFile(join(folder, '000000000003.json'), '{"format":"another.v9","state":"pending","record":{}}')
  await writeFile(join(folder, '.half.tmp'), '{')
  const second = await FileOutbox.open(folder)
  expect(second.unreadable).toEqual(['000000000002.json.unreadable', '000000000003.json.unreadable'])
  expect((await second.list()).map(({ id }) => id)).toEqual(['000000000001'])
  expect((await second.add(content('b'))).id).toBe('000000000004')
  expect(await readdir(folder)).not.toContain('.half.tmp')
  await second.close()
})

it('refuses a second owner, in this process and in another', async () => {
  const first = await FileOutbox.open(folder)
  await expect(FileOutbox.open(folder)).rejects.toMatchObject({ name: 'StoreInUseError' })
  const program = `import { FileOutbox } from '@chancery/sdk/nodejs'
    await FileOutbox.open(${JSON.stringify(folder)}).then(() => console.log('opened'), (error) => console.log(error.name))`
  const args = ['--conditions=development', '--input-type=module', '-e', program]
  const run = promisify(execFile)
  const inRepository = { cwd: import.meta.dirname }
  expect((await run(process.execPath, args, inRepository)).stdout).toBe('StoreInUseError\n')
  await first.close()
  await expect(first.add(content('a'))).rejects.toThrow('closed')
  expect((await run(process.execPath, args, inRepository)).stdout).toBe('opened\n')
})

it('is not given away while an action is under way, whose evidence the next owner would falsify', async () => {
  const outbox = await FileOutbox.open(folder)
  const sender = new EvidenceSender({
    client: createAuthorityClient({ url: 'http://127.0.0.1:1', retry: false }),
    executor: { signer: await testSigner('rotator-1'), sovereignId: 'rotator' },
    outbox,
    clock: () => 0n,
    observe: () => undefined,
  })
  const entry = await sender.begin({ evidence_id: 'e-1', executor_sovereign_id: 'rotator' } as Intent)
  await expect(outbox.close()).rejects.toThrow('under way')
  await expect(FileOutbox.open(folder)).rejects.toMatchObject({ name: 'StoreInUseError' })
  sender.release(entry)
  await outbox.close()
  const next = await FileOutbox.open(folder)
  expect(await next.list()).toMatchObject([{ state: 'started', owner: expect.any(String) }])
  await next.close()
})
