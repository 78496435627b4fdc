import { type JsonObject, type JsonValue, isJsonObject, writeJson } from '@chancery/protocol'
import { accepted, readPage, send } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { openPage, visit } from './browser.ts'
import type { ConsoleSetup } from './console-setup.ts'

/** Pages show the values of the JSON documents, also after the script has refreshed parts. */
export function describeModel(setup: () => ConsoleSetup): void {
  const get = async (path: string): Promise<JsonObject> => accepted(await send(setup().demo.url, 'GET', path))
  const rows = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : [])
  /** The page as the browser shows it now. */
  const read = async (path: string) => {
    const { browser, demo } = setup()
    const checkedPage = await openPage(browser, demo.url)
    await visit(checkedPage, demo.url + path)
    const text = await checkedPage.page.content()
    await checkedPage.close()
    return readPage(text)
  }

  describe('one model', () => {
    it('gives /dashboard.json and the overview the same values', async () => {
      const [model, page] = [await get('/dashboard.json'), await read('/')]
      const { nodes, certificates, treaty_summary, connectome_summary } = model
      const number = (part: JsonValue | undefined, name: string): string =>
        isJsonObject(part) ? writeJson(part[name] ?? null) : 'no object'
      expect(page.tile('Active nodes')).toContain(number(nodes, 'active'))
      expect(page.tile('Active nodes')).toContain(`of ${number(nodes, 'tracked')} certificates in force`)
      expect(page.tile('Certificates issued')).toContain(number(certificates, 'issued'))
      expect(page.tile('Certificates issued')).toContain(`${number(certificates, 'revoked')} revoked`)
      expect(page.tile('Treaties in force')).toContain(`${number(treaty_summary, 'expiring_soon')} ending within 72 h`)
      expect(page.tile('Sovereigns')).toContain(number(connectome_summary, 'sovereign_count'))
      expect(page.rows('Treaties by urgency')).toEqual(
        rows(model['treaties']).map((row) => [
          String(row['lifecycle_state']).replaceAll('_', ' '),
          row['issuer_sovereign_id'],
          row['subject_sovereign_id'],
          row['expires_at_display'],
          String(row['capability_patterns']),
          row['treaty_id'],
        ]),
      )
      expect(page.rows('Revocation feeds of others').map((row) => [row[0], row[1], row[4]])).toEqual(
        rows(model['revocation_feeds']).map((row) => [
          row['freshness'],
          row['issuer_sovereign_id'],
          row['imported_at_display'],
        ]),
      )
      for (const warning of model['warnings'] as string[]) expect(page.text).toContain(warning)
      for (const change of rows(model['recent_changes']))
        expect(page.text).toContain(String((change['summary'] as JsonObject)['title']))
    })

    it('gives /connectome.json and the connectome page the same values', async () => {
      const [model, page] = [await get('/connectome.json'), await read('/connectome')]
      expect(page.rows('Treaties').map((row) => [row[0], row[1], row[2], row[3], row[5]])).toEqual(
        rows(model['recognition_edges']).map((edge) => [
          String(edge['lifecycle_state']).replaceAll('_', ' '),
          edge['from'],
          edge['to'],
          edge['expiry_risk'],
          edge['treaty_id'],
        ]),
      )
      expect(page.rows('Imported revocations').map((row) => [row[0], row[1], row[3]])).toEqual(
        rows(model['revocation_blast_radius']).map((row) => [
          row['issuer_sovereign_id'],
          row['id'],
          (row['affected_accepting_sovereigns'] as string[]).join(', ') || 'none',
        ]),
      )
    })

    it('gives /atlas.json and the atlas page the same values', async () => {
      const [model, page] = [await get('/atlas.json'), await read('/atlas')]
      expect(page.text).toContain(String(model['graph_digest']))
      expect(page.rows('Sovereigns').map((row) => row[0])).toEqual(
        rows(model['sovereigns']).map((row) => row['sovereign_id']),
      )
    })
  })
}
