module a.b { requires c; }
