import { createInvite, enroll, newNodeCaller } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { axeFindings } from './browser.ts'
import type { ConsolePage, FrameSetup } from './frame-setup.ts'
import { useFrame } from './use-frame.ts'

let setup: FrameSetup
let opened: ConsolePage
useFrame((own, shared) => {
  setup = shared
  opened = own
})

const FOLLOWING = '.live[title^="Read again after each change"]'
const rows = (): Promise<number> => opened.page.locator('tbody tr').count()
const streams = async (): Promise<string> =>
  /^chancery_http_streams (\d+)$/m.exec((await setup.na.request('GET', '/metrics')).text)?.[1] ?? 'none'
const joinElsewhere = async (): Promise<void> => {
  const { na } = setup
  await enroll(na, await newNodeCaller(na.url, 'live', na.core.clock))
}
/** Hides or shows the page, as another tab would. */
const setHidden = (isHidden: boolean): Promise<void> =>
  opened.page.evaluate(`
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} })
    document.dispatchEvent(new Event('visibilitychange'))`)

it('shows within 2 seconds that a node joined elsewhere, and does not move the rows', async () => {
  const { page, unlock, trouble } = opened
  await unlock('/operator/nodes')
  await page.waitForSelector(FOLLOWING)
  await page.waitForSelector('tbody tr:nth-child(3)')
  const before = await rows()
  const names = await page.locator('tbody .name').allTextContents()
  await joinElsewhere()
  await page.waitForSelector('.newer button >> text=1 newer node', { timeout: 2000 })
  expect(await page.locator('tbody .name').allTextContents()).toEqual(names)
  expect(await axeFindings(page)).toEqual([])
  await page.click('.newer button')
  await expect.poll(rows).toBe(before + 1)
  expect(await page.locator('.newer').count()).toBe(0)
  expect(trouble).toEqual([])
})

it('shows the first row of an empty list within 2 seconds', async () => {
  const { page, unlock } = opened
  await unlock('/operator/nodes?tab=invites')
  await page.waitForSelector(FOLLOWING)
  await page.waitForSelector('text=No open invite')
  await createInvite(setup.na)
  await page.waitForSelector('tbody tr:only-child >> text=Open', { timeout: 2000 })
})

it('closes the stream while the page is hidden and when the console is locked', async () => {
  const { page, unlock } = opened
  await unlock('/operator/audit')
  await page.waitForSelector(FOLLOWING)
  expect(await streams()).toBe('1')
  await setHidden(true)
  await expect.poll(streams).toBe('0')
  await joinElsewhere()
  await setHidden(false)
  await page.waitForSelector('.newer button', { timeout: 2000 })
  await page.click('[aria-label="Lock now"]')
  await page.waitForSelector('#key-file', { state: 'attached' })
  await expect.poll(streams).toBe('0')
})

it('opens one stream for all pages', async () => {
  const { page, unlock } = opened
  await unlock('/operator/nodes')
  await page.waitForSelector(FOLLOWING)
  for (const path of ['/operator/agents', '/operator/audit', '/operator/nodes']) {
    await page.click(`.nav a[href="${path}"]`)
    await page.waitForSelector(`.nav a[href="${path}"][aria-current]`)
    expect(await streams()).toBe('1')
  }
})

it('asks for changes when streams do not work, and reads by time when the authority has no such route', async () => {
  const { page, unlock } = opened
  const asked: string[] = []
  let isMissing = false
  await page.route('**/admin/changes*', async (route) => {
    const accept = route.request().headers()['accept'] ?? ''
    asked.push(accept)
    if (accept === 'text/event-stream') return route.abort()
    return isMissing ? route.fulfill({ status: 404, json: {} }) : route.continue()
  })
  await unlock('/operator/nodes')
  await page.waitForSelector(FOLLOWING)
  expect(asked.slice(0, 2)).toEqual(['text/event-stream', 'application/json'])
  await joinElsewhere()
  await page.waitForSelector('.newer button', { timeout: 7000 })
  isMissing = true
  await page.waitForSelector('.live[title^="Read again every 15 seconds"]', { timeout: 7000 })
})
