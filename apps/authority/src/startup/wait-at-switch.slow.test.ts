import { SERVER_LIMITS } from '@chancery/contract'
import { type TestResponse, accepted, startTestAuthority } from '@chancery/testkit'
import { expect, it } from 'vitest'

it('serves the list while more calls of one address wait at a switch than it has slots, and then each of them', async () => {
  const na = await startTestAuthority()
  try {
    accepted(await na.request('GET', '/crl'))
    expect(await na.core.gates.calls.close(5000)).toBe(true)
    const send = na.as('privileged')
    const slotsInUse = async (): Promise<string | undefined> =>
      /^chancery_http_requests_in_flight (\d+)$/m.exec((await na.request('GET', '/metrics')).text)?.[1]
    const waiting: Promise<TestResponse>[] = []
    // In groups, because each has a slot until it waits.
    while (waiting.length <= SERVER_LIMITS.inFlightRequests / 2) {
      for (let each = 0; each < 32; each += 1) {
        const subject_id = `clerk-${waiting.length}`
        waiting.push(send('POST', '/admin/attestations', { subject_id, roles: ['role:client'] }))
      }
      await expect.poll(slotsInUse, { interval: 20 }).toBe('0')
    }
    const first = await Promise.race([Promise.all(waiting), new Promise((resolve) => setTimeout(resolve, 500))])
    expect(first).toBeUndefined()
    accepted(await na.request('GET', '/crl'))
    na.core.gates.calls.open()
    const statuses = (await Promise.all(waiting)).map(({ status, text }) =>
      status === 201 ? '201' : `${status} ${text}`,
    )
    expect(statuses.filter((each) => each !== '201')).toEqual([])
  } finally {
    na.core.gates.calls.open()
    await na.stop()
  }
}, 60_000)
