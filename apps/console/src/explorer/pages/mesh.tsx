import type { Mesh, MeshLink } from '@chancery/contract'
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { Badge } from '../../components/badge.tsx'
import { Fact } from '../../components/fact.tsx'
import { MeshDrawing, conditionOf, toneOf } from '../components/mesh-drawing.tsx'
import { Time } from '../components/time.tsx'
import { useAutoRefresh } from '../components/use-live.ts'
import { loadMesh, findStaleReason } from '../requests/mesh.ts'

/** Draws the networks that the gateway operator publishes. The data is public, so it needs no token. */
export function MeshPage(): JSX.Element {
  const { value: mesh, problem, atMs } = useAutoRefresh(loadMesh, ({ stale }) => stale === true)
  const [chosen, setChosen] = useState<string>()
  const nowMs = useNow(atMs)
  if (mesh === undefined)
    return problem === undefined ? <p role="status">Loading mesh…</p> : <p role="alert">{problem}</p>
  const stale = findStaleReason(mesh, problem !== undefined, nowMs)
  return (
    <>
      <p class="quiet">
        Published domains, with the treaties and members whose signatures this gateway verified. Observed{' '}
        <Time at={mesh.observed_at} />.
      </p>
      {stale === undefined ? null : (
        <p class="banner watch" role="status" data-stale>
          {stale}
        </p>
      )}
      {mesh.networks.length === 0 ? (
        <p class="panel empty">This gateway publishes no network.</p>
      ) : (
        <>
          <div class="split">
            <figure class="map panel">
              <MeshDrawing mesh={mesh} chosen={chosen} choose={setChosen} nowMs={nowMs} />
              <figcaption class="legend">
                <span class="key">recognises</span>
                <span class="key key-watch">ends within a week</span>
                <span>✓ responds</span>
                <span>! list not current</span>
                <span>× does not respond</span>
              </figcaption>
            </figure>
            <section class="panel inspector" aria-live="polite" aria-label="Chosen domain">
              <Chosen mesh={mesh} id={chosen} />
            </section>
          </div>
          <Treaties links={mesh.links} nowMs={nowMs} />
          <Synchronization mesh={mesh} />
        </>
      )}
    </>
  )
}

const TICK_MS = 10_000

/** Current time, so that old data is marked also while no response arrives. */
function useNow(atMs: number): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [atMs])
  return now
}

function Chosen({ mesh, id }: { readonly mesh: Mesh; readonly id: string | undefined }): JSX.Element {
  const network = mesh.networks.find((each) => each.id === id)
  if (network === undefined) return <p class="quiet">Choose a domain in the picture, with the mouse or the Tab key.</p>
  const members = mesh.members.filter((member) => member.network === id)
  const { tone, word } = conditionOf(network)
  return (
    <>
      <h2>
        {network.id} <Badge tone={tone} word={word} />
      </h2>
      <dl class="facts">
        <Fact name="Revocation list" value={`number ${network.crl_sequence}`} />
        <Fact
          name="Own feed"
          value={network.source_feed === null ? 'not verified' : `number ${network.source_feed.sequence}`}
        />
        <Fact name="Recognises" value={names(mesh.links, 'from', 'to', id)} />
        <Fact name="Recognised by" value={names(mesh.links, 'to', 'from', id)} />
      </dl>
      <h3>Members ({network.member_count})</h3>
      {network.members_truncated ? <p class="banner watch">Not all members could be read.</p> : null}
      {network.links_truncated ? <p class="banner watch">Not all treaties could be read.</p> : null}
      {network.member_count > members.length ? <p class="quiet">The first {members.length} are shown.</p> : null}
      {members.length === 0 ? <p class="quiet">None is published.</p> : null}
      <ul class="plain">
        {members.map((member) => (
          <li key={member.id}>
            <strong>{member.subject}</strong> {member.demo ? <Badge tone="watch" word="demonstration" /> : null}
            <br />
            <span class="quiet">
              {member.roles.join(', ')} · until <Time at={member.expires_at} />
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}

function names(links: readonly MeshLink[], own: 'from' | 'to', other: 'from' | 'to', id: string | undefined): string {
  const found = new Set(links.filter((link) => link[own] === id).map((link) => link[other]))
  return [...found].sort().join(', ') || 'none'
}

function Treaties({ links, nowMs }: { readonly links: readonly MeshLink[]; readonly nowMs: number }): JSX.Element {
  return (
    <section class="panel">
      <header>
        <h2>Treaties</h2>
      </header>
      {links.length === 0 ? <p class="empty">No treaty between published networks.</p> : null}
      <div class="table cards">
        <table>
          <caption>Active treaties between published networks</caption>
          <thead>
            <tr>
              {['From', 'Recognises', 'Roles', 'Until', 'Id'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {links.map((link) => (
              <tr key={link.id}>
                <td data-label="From">{link.from}</td>
                <td data-label="Recognises">{link.to}</td>
                <td data-label="Roles">{link.roles.join(', ') || 'none'}</td>
                <td data-label="Until">
                  <span>
                    <Time at={link.expires_at} />{' '}
                    {toneOf(link, nowMs) === 'watch' ? <Badge tone="watch" word="expires within a week" /> : null}
                  </span>
                </td>
                <td data-label="Id">
                  <code class="id" title={link.id}>
                    {link.id}
                  </code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

const STATUS: Readonly<Record<string, { readonly tone: string; readonly word: string }>> = {
  current: { tone: 'good', word: 'current' },
  behind: { tone: 'watch', word: 'behind' },
  not_imported: { tone: 'watch', word: 'never imported' },
  source_unverified: { tone: 'watch', word: 'source not verified' },
  consumer_unavailable: { tone: 'ended', word: 'consumer not readable' },
  source_rollback: { tone: 'bad', word: 'source rolled back' },
}

function Synchronization({ mesh }: { readonly mesh: Mesh }): JSX.Element {
  return (
    <section class="panel">
      <header>
        <h2>Synchronization</h2>
      </header>
      <p class="empty">
        Two numbers are compared: the feed a network publishes and the one its partner imported. «current» proves
        nothing about what the partner enforces.
      </p>
      <div class="table cards">
        <table>
          <caption>Imported revocation feeds per treaty pair</caption>
          <thead>
            <tr>
              {['Consumer', 'Publisher', 'State', 'Published', 'Imported', 'Last import'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {mesh.synchronization.map((row) => (
              <tr key={`${row.consumer}\0${row.publisher}`}>
                <td data-label="Consumer">{row.consumer}</td>
                <td data-label="Publisher">{row.publisher}</td>
                <td data-label="State">
                  <Badge tone={STATUS[row.status]?.tone ?? 'ended'} word={STATUS[row.status]?.word ?? row.status} />
                </td>
                <td data-label="Published">{row.published_sequence ?? 'none'}</td>
                <td data-label="Imported">{row.imported_sequence ?? 'none'}</td>
                <td data-label="Last import">
                  {row.last_imported_at === null ? 'never' : <Time at={row.last_imported_at} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
