import { startTestAuthority } from '@chancery/testkit'
import { expect, it } from 'vitest'

it('writes the exact name of the network into the frame of the console, and shows no invisible character', async () => {
  const network = 'A\u200DB & "C" 100 %'
  const na = await startTestAuthority({ network })
  try {
    const { text } = await na.request('GET', '/operator')
    const [, written = ''] = /data-network="([^"]*)"/.exec(text) ?? []
    expect(decodeURIComponent(written)).toBe(network)
    expect(text).not.toContain('\u200D')
  } finally {
    await na.stop()
  }
})
