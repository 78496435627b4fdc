import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { isSecret, loadClientSecret } from './guard.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-secret-'))
})
afterEach(() => rm(folder, { recursive: true }))

it('is made once, another for each guard', async () => {
  const [one, two] = [join(folder, 'a', 'client.secret'), join(folder, 'b', 'client.secret')]
  const secret = await loadClientSecret(one)
  expect(await loadClientSecret(one)).toBe(secret)
  expect(await loadClientSecret(two)).not.toBe(secret)
  expect([isSecret(secret, secret), isSecret('', secret), isSecret([secret], secret)]).toEqual([true, false, false])
})

it('is refused when its file is damaged, instead of an empty secret', async () => {
  const file = join(folder, 'client.secret')
  await writeFile(file, '\n')
  await expect(loadClientSecret(file)).rejects.toThrow('does not contain a client secret')
})
