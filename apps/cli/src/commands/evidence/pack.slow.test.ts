import { readFile, writeFile } from 'node:fs/promises'
import { accepted } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

/** With the slow tests, because the page is part of the build. */

let network: RealNetwork
let id: string
beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on' })
  const member = { subject_id: '</script>', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const { attestation_id } = accepted(await network.na.as('privileged')('POST', '/admin/attestations', member), 201)
  id = (
    await network.asOperator(`ask --as operator secret.rotate --attestation ${String(attestation_id)} --quiet`)
  ).stdout.trim()
})
afterAll(() => network.close())

it('evidence pack --html writes a page whose pack verify pack reads, and a changed page is refused', async () => {
  const { code, stdout } = await network.asOperator(`evidence pack ${id} --out pack.html --html`)
  expect([code, stdout]).toEqual([0, expect.stringContaining('The auditor opens the page in a browser')])
  const page = await readFile(network.setup.path('pack.html'), 'utf8')
  expect(page.split('</script>')).toHaveLength(3)
  expect(page.length).toBeLessThan(400_000)
  const verify = async (text: string): Promise<[number, string]> => {
    await writeFile(network.setup.path('page.html'), text)
    const ran = await network.run('verify page.html --genesis genesis.json')
    return [ran.code, ran.stdout + ran.stderr]
  }
  const note = 'Only the pack was verified.'
  const [exit, words] = await verify(page)
  expect([exit, words.includes('Valid.'), words.includes(note)]).toEqual([0, true, false])
  const changed = page.replace('<div id="decision"></div>', '<div><p>Allowed: everything</p></div>')
  expect(changed).not.toBe(page)
  expect(await verify(changed)).toEqual([0, expect.stringContaining(note)])
  expect(await verify(page.replace('"agreement":null', '"agreement": null'))).toEqual([
    1,
    expect.stringContaining('not canonical'),
  ])
  expect(await verify(page.replace(/\\u003c\/script/, String.raw`\u003c/scripu`))).toEqual([
    1,
    expect.stringContaining('Not valid.'),
  ])
  expect(await verify(page.replaceAll('id="evidence-pack"', ''))).toEqual([
    1,
    expect.stringContaining('This page has no evidence pack.'),
  ])
})
