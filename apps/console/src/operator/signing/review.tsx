import type { JSX } from 'preact'
import { lazyDrawer } from '../parts/lazy.tsx'
import { navigate, withQuery } from '../router.ts'
import type { Act, DrawerProps } from './act.ts'

/** The address that opens a drawer on the present page. It never signs. */
export const doHref = (name: string): string => withQuery({ do: name })

/** Opens the drawer that the address names with ?do=. Every page with actions has one. */
export function Acts(props: { readonly of: readonly Act[]; readonly query: URLSearchParams }): JSX.Element | null {
  const act = props.of.find(({ name }) => name === props.query.get('do'))
  return act === undefined ? null : (
    <LazyDrawer
      key={`${act.name} ${location.pathname}`}
      act={act}
      onClose={() => navigate(withQuery({ do: undefined }))}
    />
  )
}

/** The drawer has its own script, loaded with the first one that is opened. */
const LazyDrawer = lazyDrawer<DrawerProps>(async () => (await import('./review-drawer.tsx')).ReviewDrawer)
