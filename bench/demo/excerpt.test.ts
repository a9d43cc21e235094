import { expect, test } from 'vitest';
import { cutOut } from './excerpt.ts';

const LISTING = `table ip sluice {
	map ingress-pods {
		type ipv4_addr : verdict
		elements = { 10.0.0.1 comment "shop/web" : goto in-A-shop/web,
			     10.0.0.2 comment "shop/db" : goto in-B-shop/db }
	}

	set peers-1 {
		type ipv4_addr
		elements = { 10.0.0.3,
			     10.0.0.4 }
	}

	set peers-2 {
		type ipv4_addr
	}

	chain forward {
		ip daddr vmap @ingress-pods
	}

	chain in-A-shop/web {
		ip saddr @peers-2 accept
	}

	chain in-B-shop/db {
		ip saddr @peers-1 accept comment "shop/db, ingress[0]"
		drop
	}
}
`;

test('cutOut() leaves the hook, the element of the pod, and what that leads to', () => {
  expect(cutOut('shop/db', LISTING).join('\n')).toBe(`chain forward {
  ip daddr vmap @ingress-pods
}
map ingress-pods {
  type ipv4_addr : verdict
  elements = { 10.0.0.2 comment "shop/db" : goto in-B-shop/db, … }
}
chain in-B-shop/db {
  ip saddr @peers-1 accept comment "shop/db, ingress[0]"
  drop
}
set peers-1 {
  type ipv4_addr
  elements = { 10.0.0.3, 10.0.0.4 }
}`);
});
