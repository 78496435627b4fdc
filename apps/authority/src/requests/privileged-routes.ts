import { ALL_ROUTES } from '@chancery/contract'
import { SettingError } from '@chancery/service-kit'
import type { Reader } from '@chancery/service-kit'

/** Routes a standard operator key may call; the others need no raising, or cannot be raised. */
const RAISABLE: ReadonlySet<string> = new Set(
  ALL_ROUTES.filter((route) => route.access === 'operator:standard').map((route) => route.id),
)

/** NA_PRIVILEGED_ROUTES: a name that is not a standard route stops the start, so that none stays open by a typing error. */
export const routeList: Reader<ReadonlySet<string>> = (value) => {
  const ids = value
    .split(',')
    .map((id) => id.trim().replaceAll(/\s+/g, ' '))
    .filter((id) => id !== '')
  for (const id of ids) {
    if (!RAISABLE.has(id))
      throw new SettingError('must be a comma list of routes that standard keys may call, such as POST /admin/invite')
  }
  return new Set(ids)
}
