import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type ConsolePage, type FrameSetup, openConsolePage, openFrameSetup } from './frame-setup.ts'

/** Opens a setup for the tests of a file, and a page for each test, which is handed to `each`. */
export function useFrame(
  each: (own: ConsolePage, setup: FrameSetup) => void,
  settings: Readonly<Record<string, string>> = {},
): void {
  let setup: FrameSetup
  let own: ConsolePage
  beforeAll(async () => {
    setup = await openFrameSetup(settings)
  })
  afterAll(() => setup.close())
  beforeEach(async () => {
    own = await openConsolePage(setup)
    each(own, setup)
  })
  afterEach(() => own.close())
}
