import { readFile, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'

it('refuses, without a request, to pin a key of one network under the name of another', async () => {
  const setup = await TestContext.make()
  try {
    await setup.run('keygen root --out root --key-id rs-1')
    await setup.run('keygen authority --out na')
    await setup.run('genesis create --name EXAMPLE-NET --root-key root.pub --authority-key na.pub --out g.json')
    await setup.run('genesis sign g.json --root-private-key root.key')
    const policy = JSON.stringify({ networks: { 'OTHER-NET': {}, 'EXAMPLE-NET': {} } })
    await writeFile(setup.path('policy.json'), policy)
    const follow = async (network: string): Promise<unknown> => {
      const line = `gateway network refresh ${network} --policy policy.json --genesis g.json --url http://127.0.0.1:9`
      const { code, stderr } = await setup.run(`${line} --json`)
      expect(code).not.toBe(0)
      return (JSON.parse(stderr) as { error: { code: string } }).error.code
    }
    expect(await follow('OTHER-NET')).toBe('other_network')
    expect(await follow('EXAMPLE-NET')).not.toBe('other_network')
    expect(await readFile(setup.path('policy.json'), 'utf8')).toBe(policy)
  } finally {
    await setup.remove()
  }
})
